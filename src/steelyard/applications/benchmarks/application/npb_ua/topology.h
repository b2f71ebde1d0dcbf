// The unknowns that elements share: mortars on the finer side of each interface, numbered by the threads that own them.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "buffers.h"
#include "octree.h"
#include "team.h"

namespace steelyard::npb::ua {

constexpr std::array<int, 3> points_of_kind = {1, 3, 9};                                             // inside it
constexpr std::array<int, 3> split_points_of_kind = {0, split_points, split_points * split_points};  // if it is split
constexpr std::array<int, 3> pieces_of_kind = {0, pieces, pieces * pieces};

// A batch of mortars (corners, edges or faces), one for each lane. Their sums have a list of sources, with a row of
// lanes for each source: first the elements that own the mortar directly, then the split edges and faces that contain
// the mortar.
struct Batch {
  Pack scale;  // 1/(sum of the weights of the elements that own the mortar directly); 0 for a lane without a mortar
  std::uint32_t first;
  std::uint16_t direct, back;
};

// The part that one thread owns. Arrays of three are for corners, edges and faces.
struct alignas(64) Share {
  std::size_t first_block, last_block;                         // its elements
  std::array<int, 3> plain, other, split;                      // numbers of mortars, and of split edges and faces
  std::array<int, 3> mortar_slots, hanging_slots, back_parts;  // their begins
  std::array<std::vector<int>, 3> owned;                       // by number: the element and the entity
  std::array<std::vector<Batch>, 3> batches;
  std::vector<int> sources;                       // indices of the parts
  std::array<std::vector<int>, 3> piece_slots;    // for each batch of split ones: their mortars
  std::array<std::vector<int>, 3> element_parts;  // for each batch of split ones: the element's part

  int count(int kind) const { return plain[to(kind)] + other[to(kind)]; }
  static std::size_t to(int i) { return static_cast<std::size_t>(i); }
};

constexpr int batches_of(int things) { return (things + lanes - 1) / lanes; }

// Two arrays are laid out here, both in units of doubles with lanes side by side, and both beginning with 9 zeros a
// lane, which stand for the domain's boundary:
//  slots: the mortars, and after them the values of split ("hanging") edges and faces, which follow from the mortars;
//  parts: what each element gives to its nodes (98 shared ones, 27 inside), and after them what each split edge and
//  face hands back to its 9 or 81 points.
class Topology {
 public:
  static constexpr int zeros = points_of_kind[2] * lanes;

  Topology(std::size_t most_elements, const MemoryPolicy& policy, Team& team)
      : team_(team),
        shares_(team.size()),
        slots_(padded(most_elements) * entity_count, policy, team),
        near_(padded(most_elements) * entity_count, policy, team),
        back_(padded(most_elements) * entity_count, policy, team),
        masks_(padded(most_elements), policy, team) {}
  static constexpr std::size_t bytes(std::size_t elements) {
    return padded(elements) * (3 * entity_count * sizeof(int) + sizeof(Masks));
  }
  static constexpr std::size_t padded(std::size_t elements) { return (elements + lanes - 1) / lanes * lanes; }

  // Runs on all threads when the mesh is complete: assigns the elements, the mortars and their places.
  void number(Worker w, const Octree& mesh) {
    Share& mine = shares_[w.index];
    if (w.index == 0) mesh_ = &mesh;
    std::tie(mine.first_block, mine.last_block) = w.part(padded(mesh.leaves().size()) / lanes, 1);
    mine.plain = mine.other = mine.split = {};
    team_.barrier().wait();
    each_element(w, [&](int e) { find_split_entities(e); });
    each_entity(mine, [&](int e, int entity) { slots_[index(e, entity)] = number_mortar(mine, e, entity); });
    team_.barrier().wait();
    lay_out(mine);
    each_element(w, [&](int e) { place(mine, e); });
    team_.barrier().wait();
    for (std::size_t i = mine.first_block * lanes * entity_count; i < mine.last_block * lanes * entity_count; ++i)
      if (slots_[i] < 0) slots_[i] = slots_[to(-1 - slots_[i])];
    team_.barrier().wait();
  }

  const Octree& mesh() const { return *mesh_; }
  Share& share(Worker w) { return shares_[w.index]; }
  const Share& share(Worker w) const { return shares_[w.index]; }
  std::size_t blocks() const { return padded(mesh_->leaves().size()) / lanes; }
  int slots() const { return slot_count_; }
  int parts() const { return part_count_; }
  const int* block_slots(std::size_t block) const { return &slots_[block * entity_count * lanes]; }
  // One bit for each of its entities.
  std::uint32_t split(int e) const { return masks_[to(e)].split; }
  int slot(int e, int entity) const { return slots_[index(e, entity)]; }
  int back(int e, int entity) const { return back_[to(e * entity_count + entity)]; }
  // Returns the number, on its thread, of a split edge or face.
  int split_number(const Share& share, int e, int entity) const {
    auto kind = to(entities[to(entity)].kind);
    int at = slot(e, entity) - share.hanging_slots[kind];
    return at / (points_of_kind[kind] * lanes) * lanes + at % lanes;
  }
  static int part(int e, int entity) {
    return zeros + (e / lanes * nodes + entities[to(entity)].first) * lanes + e % lanes;
  }

  // Returns the leaf that touches an entity of e on the side where the directions in `across` (bits) are crossed. These
  // must be directions in which the entity does not extend.
  int neighbour_across(int e, int entity, unsigned across) const {
    int found = near_[to(e * entity_count + ways_[to(entity)][across])];
    if (found != Octree::parted) return found;
    const Triple& code = entities[to(entity)].code;
    const Triple& way = entities[to(ways_[to(entity)][across])].code;
    Triple bits{};
    for (std::size_t d = 0; d < 3; ++d) bits[d] = code[d] != 1 && (code[d] == 2) != (across >> d & 1);
    Cell cell = mesh_->leaves()[to(e)].moved_by({way[0] - 1, way[1] - 1, way[2] - 1});
    while (found == Octree::parted) found = mesh_->find_leaf(cell = cell.child(bits));
    return found;
  }
  // Returns the middle of an entity of e in the coordinates of leaf f, in quarters of its edge.
  Triple place_in(int f, int e, int entity) const {
    const Cell &own = mesh_->leaves()[to(e)], &other = mesh_->leaves()[to(f)];
    Triple out;
    for (std::size_t d = 0; d < 3; ++d) {
      int middle = (2 * own.at[d] + entities[to(entity)].code[d]) << (mesh_->finest() - own.level);
      int within = middle - (2 * other.at[d] << (mesh_->finest() - other.level));
      out[d] = 2 * within >> (mesh_->finest() - other.level);
    }
    return out;
  }
  // Returns whether it is an entity of leaf f, and not a piece of a larger one.
  bool has_entity(int f, int e, int kind, const Triple& place) const {
    if (kind > 0) return level(f) == level(e);
    return place[0] % 4 == 0 && place[1] % 4 == 0 && place[2] % 4 == 0;
  }
  static int entity_at(const Triple& place) { return number_of({place[0] / 2, place[1] / 2, place[2] / 2}); }
  static unsigned ends_of_entity(int entity) {
    const Triple& code = entities[to(entity)].code;
    return (code[0] != 1 ? 1u : 0u) | (code[1] != 1 ? 2u : 0u) | (code[2] != 1 ? 4u : 0u);
  }
  int level(int e) const { return mesh_->leaves()[to(e)].level; }

  template <class Use>
  void each_element(Worker w, Use use) const {
    const Share& mine = shares_[w.index];
    int last = static_cast<int>(std::min(mine.last_block * lanes, mesh_->leaves().size()));
    for (int e = static_cast<int>(mine.first_block) * lanes; e < last; ++e) use(e);
  }

 private:
  // Bits of entities: mortars that the element owns, owned mortars that only elements of one size share, and split
  // entities.
  struct Masks {
    std::uint32_t owned, plain, split;
  };
  static std::size_t to(int i) { return static_cast<std::size_t>(i); }
  // By entity and crossed directions: the direction of the neighbour, numbered like an entity.
  static constexpr std::array<std::array<int, 8>, entity_count> ways_ = [] {
    std::array<std::array<int, 8>, entity_count> out{};
    for (std::size_t n = 0; n < entity_count; ++n)
      for (std::size_t across = 0; across < 8; ++across) {
        Triple way{1, 1, 1};
        for (std::size_t d = 0; d < 3; ++d)
          if (across >> d & 1) way[d] = entities[n].code[d];
        out[n][across] = number_of(way);
      }
    return out;
  }();
  static std::size_t index(int e, int entity) { return to((e / lanes * entity_count + entity) * lanes + e % lanes); }

  // Finds the neighbours of an element in each direction.
  void find_split_entities(int e) {
    const Cell& cell = mesh_->leaves()[to(e)];
    int* near = &near_[to(e * entity_count)];
    for (int n = 0; n < entity_count; ++n) {
      const Triple& code = entities[to(n)].code;
      Cell beside = cell.moved_by({code[0] - 1, code[1] - 1, code[2] - 1});
      near[n] = mesh_->find_leaf(beside);
      if (near[n] == Octree::absent) near[n] = mesh_->leaf_around(beside);
    }
    masks_[to(e)] = {0, 0, 0};
  }

  // Numbers the elements of a block one after the other for the same entity. Consecutive mortars then lie side by side
  // in the parts of the elements that own them.
  template <class Use>
  void each_entity(const Share& mine, Use use) const {
    int count = static_cast<int>(mesh_->leaves().size());
    for (std::size_t b = mine.first_block; b < mine.last_block; ++b) {
      int first = static_cast<int>(b) * lanes, last = std::min(first + lanes, count);
      for (int n = 0; n < entity_count; ++n)
        for (int e = first; e < last && n != inside; ++e) use(e, n);
    }
  }

  // Returns 0 on the boundary, and a new number for a mortar that the element owns or that is split. For a mortar of
  // another element: -1 - the index at which its owner has it. The owner is the first element with this mortar.
  int number_mortar(Share& mine, int e, int entity) {
    std::uint32_t bit = 1u << entity;
    int kind = entities[to(entity)].kind, owner = e, owners_entity = entity;
    bool plain = true;
    for (unsigned all = ends_of_entity(entity), across = all; across; across = (across - 1) & all) {
      int f = neighbour_across(e, entity, across);
      if (f == Octree::outside) return 0;
      plain &= level(f) == level(e);
      if (kind > 0 && level(f) > level(e)) {
        masks_[to(e)].split |= bit;
      } else if (f < owner) {
        Triple place = place_in(f, e, entity);
        if (has_entity(f, e, kind, place)) owner = f, owners_entity = entity_at(place);
      }
    }
    if (masks_[to(e)].split & bit) return mine.split[to(kind)]++;
    if (owner != e) return -1 - static_cast<int>(index(owner, owners_entity));
    masks_[to(e)].owned |= bit;
    if (plain) masks_[to(e)].plain |= bit;
    return (plain ? mine.plain : mine.other)[to(kind)]++;
  }

  void lay_out(Share& mine) {
    int slot = zeros, part = zeros + static_cast<int>(blocks()) * nodes * lanes;
    for (int hanging = 0; hanging < 2; ++hanging)
      for (std::size_t kind = 3; kind-- > 0;)
        for (Share& share : shares_) {
          if (&share == &mine) (hanging ? mine.hanging_slots : mine.mortar_slots)[kind] = slot;
          int things = hanging ? share.split[kind] : share.count(static_cast<int>(kind));
          slot += batches_of(things) * points_of_kind[kind] * lanes;
        }
    for (std::size_t kind = 3; kind-- > 1;)
      for (Share& share : shares_) {
        if (&share == &mine) mine.back_parts[kind] = part;
        part += batches_of(share.split[kind]) * split_points_of_kind[kind] * lanes;
      }
    if (&mine == &shares_[0]) slot_count_ = slot, part_count_ = part;
    for (int kind = 0; kind < 3; ++kind) mine.owned[to(kind)].assign(to(mine.count(kind)), 0);
  }

  static int batch_index(int begin, int n, int points) { return begin + n / lanes * points * lanes + n % lanes; }

  // Converts numbers to slots.
  void place(Share& mine, int e) {
    const Masks& masks = masks_[to(e)];
    for (std::uint32_t left = masks.owned | masks.split; left; left &= left - 1) {
      int entity = __builtin_ctz(left), number = slots_[index(e, entity)];
      auto kind = to(entities[to(entity)].kind);
      if (masks.split >> entity & 1) {
        back_[to(e * entity_count + entity)] = batch_index(mine.back_parts[kind], number, split_points_of_kind[kind]);
        slots_[index(e, entity)] = batch_index(mine.hanging_slots[kind], number, points_of_kind[kind]);
      } else {
        if (!(masks.plain >> entity & 1)) number += mine.plain[kind];
        mine.owned[kind][to(number)] = e * entity_count + entity;
        slots_[index(e, entity)] = batch_index(mine.mortar_slots[kind], number, points_of_kind[kind]);
      }
    }
    if (e + 1 == static_cast<int>(mesh_->leaves().size()))
      for (int lane = e + 1; lane % lanes; ++lane)
        for (int n = 0; n < entity_count; ++n) slots_[index(lane, n)] = 0;
  }

  Team& team_;
  const Octree* mesh_ = nullptr;
  std::vector<Share> shares_;
  Buffer<int> slots_;  // by block, entity and lane
  Buffer<int> near_;   // by element and direction: the leaf there, or parted, or outside
  Buffer<int> back_;   // by element and split entity: where its contribution lies in the parts
  Buffer<Masks> masks_;
  int slot_count_ = 0, part_count_ = 0;
};

}  // namespace steelyard::npb::ua
