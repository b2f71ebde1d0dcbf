// Lists that are built once for each mesh. With them, the owner of a shared point sums it up without atomic updates.
#pragma once
#include <array>

#include "topology.h"

namespace steelyard::npb::ua {

// The split edges and faces of an element that meet at one of its corners: bits 0 to 2 are the edges along x, y, z,
// bits 3 to 5 the faces across x, y, z.
inline unsigned split_at(std::uint32_t split, const Triple& corner) {
  unsigned out = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    Triple edge = corner, face{1, 1, 1};
    edge[d] = 1, face[d] = corner[d];
    out |= (split >> number_of(edge) & 1) << d | (split >> number_of(face) & 1) << (3 + d);
  }
  return out;
}

// Returns the weight (in thirds) of a corner in the initial guess: the number of unsplit faces at the corner.
inline int weight_in_thirds(std::uint32_t split, const Triple& corner) {
  return 3 - __builtin_popcount(split_at(split, corner) >> 3);
}

class SourceLists {
 public:
  SourceLists(const Topology& topology, Share& share) : topology_(topology), share_(share) {}

  void make() {
    share_.sources.clear();
    for (std::size_t kind = 0; kind < 3; ++kind) {
      share_.batches[kind].clear();
      for (std::size_t first = 0; first < share_.owned[kind].size(); first += lanes) add_batch(kind, first);
    }
  }

 private:
  // The sources of one mortar. At most 8 leaves meet at it, each with 3 edges and 3 faces there.
  struct Sources {
    std::array<int, 8> direct;
    std::array<int, 48> back;
    std::size_t directs = 0, backs = 0;
    double weight = 0;
  };
  static std::size_t to(int i) { return static_cast<std::size_t>(i); }

  void add_batch(std::size_t kind, std::size_t first) {
    std::array<Sources, lanes> sources;
    Batch batch{{}, static_cast<std::uint32_t>(share_.sources.size()), 0, 0};
    std::size_t count = std::min(share_.owned[kind].size() - first, static_cast<std::size_t>(lanes));
    for (std::size_t lane = 0; lane < count; ++lane) {
      int number = share_.owned[kind][first + lane];
      sources[lane] = find_sources(number / entity_count, number % entity_count);
      batch.direct = std::max(batch.direct, static_cast<std::uint16_t>(sources[lane].directs));
      batch.back = std::max(batch.back, static_cast<std::uint16_t>(sources[lane].backs));
      batch.scale[static_cast<int>(lane)] = 1 / sources[lane].weight;
    }
    for (std::size_t i = 0; i < batch.direct; ++i)
      for (const Sources& s : sources) share_.sources.push_back(i < s.directs ? s.direct[i] : 0);
    for (std::size_t i = 0; i < batch.back; ++i)
      for (const Sources& s : sources) share_.sources.push_back(i < s.backs ? s.back[i] : 0);
    share_.batches[kind].push_back(batch);
  }

  Sources find_sources(int e, int entity) const {
    Sources out;
    std::array<int, 8> met;
    std::size_t count = 0;
    unsigned all = Topology::ends_of_entity(entity);
    for (unsigned across = all;; across = (across - 1) & all) {
      int f = across ? topology_.neighbour_across(e, entity, across) : e;
      if (std::find(met.begin(), met.begin() + count, f) == met.begin() + count) {
        met[count++] = f;
        add_leaf(out, f, e, entity);
      }
      if (across == 0) return out;
    }
  }

  void add_leaf(Sources& out, int f, int e, int entity) const {
    Triple place = topology_.place_in(f, e, entity);
    int kind = entities[to(entity)].kind;
    std::uint32_t split = topology_.split(f);
    if (topology_.has_entity(f, e, kind, place)) {
      int own = Topology::entity_at(place);
      out.direct[out.directs++] = Topology::part(f, own);
      out.weight += kind > 0 ? 1 : weight_in_thirds(split, entities[to(own)].code) / 3.0;
    }
    if (split == 0) return;
    for (std::size_t d = 0; d < 3; ++d) {
      std::size_t u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
      Triple half{place[0] / 2, place[1] / 2, place[2] / 2}, edge = half, face{1, 1, 1};
      edge[d] = 1, face[d] = half[d];
      if (place[u] % 4 == 0 && place[v] % 4 == 0) add_back(out, f, number_of(edge), piece_first[to(place[d])]);
      if (place[d] % 4 == 0) add_back(out, f, number_of(face), face_piece_first[to(place[u] + pieces * place[v])]);
    }
  }
  void add_back(Sources& out, int f, int entity, int point) const {
    if (topology_.split(f) >> entity & 1) out.back[out.backs++] = topology_.back(f, entity) + point * lanes;
  }

  const Topology& topology_;
  Share& share_;
};

// Lists the mortars that each split edge and face consists of.
class SplitLists {
 public:
  SplitLists(const Topology& topology, Share& share) : topology_(topology), share_(share) {}

  void make(Worker w) {
    for (std::size_t kind = 1; kind < 3; ++kind) {
      std::size_t batches = to(batches_of(share_.split[kind]));
      share_.piece_slots[kind].assign(batches * to(pieces_of_kind[kind] * lanes), 0);
      share_.element_parts[kind].assign(batches * lanes, 0);
    }
    topology_.each_element(w, [&](int e) {
      for (std::uint32_t left = topology_.split(e); left; left &= left - 1) {
        int entity = __builtin_ctz(left), kind = entities[to(entity)].kind;
        int number = topology_.split_number(share_, e, entity);
        share_.element_parts[to(kind)][to(number)] = Topology::part(e, entity);
        list_pieces(e, entity, &share_.piece_slots[to(kind)][to(number / lanes * pieces_of_kind[to(kind)] * lanes)],
                    number % lanes);
      }
    });
  }

 private:
  static std::size_t to(int i) { return static_cast<std::size_t>(i); }

  // Each piece is an entity of one of the finer elements on the other side of the interface.
  void list_pieces(int e, int entity, int* rows, int lane) const {
    const Triple& code = entities[to(entity)].code;
    const Cell& own = topology_.mesh().leaves()[to(e)];
    unsigned across = find_finer_side(e, entity);
    int kind = entities[to(entity)].kind;
    for (int piece = 0; piece < pieces_of_kind[to(kind)]; ++piece) {
      Triple way{}, bits{}, theirs{};
      int rest = piece;
      for (std::size_t d = 0; d < 3; ++d) {
        if (code[d] == 1) {
          bits[d] = rest % pieces > 2;
          theirs[d] = rest % pieces - 2 * bits[d];
          rest /= pieces;
        } else {
          bool crossed = across >> d & 1;
          way[d] = crossed ? code[d] - 1 : 0;
          bits[d] = (code[d] == 2) != crossed;
          theirs[d] = crossed ? 2 - code[d] : code[d];
        }
      }
      int finer = topology_.mesh().find_leaf(own.moved_by(way).child(bits));
      rows[piece * lanes + lane] = topology_.slot(finer, number_of(theirs));
    }
  }
  unsigned find_finer_side(int e, int entity) const {
    unsigned all = Topology::ends_of_entity(entity), across = all;
    while (topology_.level(topology_.neighbour_across(e, entity, across)) <= topology_.level(e))
      across = (across - 1) & all;
    return across;
  }

  const Topology& topology_;
  Share& share_;
};

}  // namespace steelyard::npb::ua
