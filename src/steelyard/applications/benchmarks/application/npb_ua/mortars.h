// Moves values between mortars and elements: projects split edges and faces, and sums over elements that share points.
#pragma once
#include "element.h"
#include "sources.h"

namespace steelyard::npb::ua {

// Computes the values of split edges and faces from the values of the mortars. Both lie in the same array of slots.
inline void project_edges(const Share& share, double* slots) {
  for (int b = 0; b < batches_of(share.split[1]); ++b) {
    const int* rows = share.piece_slots[1].data() + b * pieces * lanes;
    Pack line[split_points];
    for (int piece = 0, point = 0; piece < pieces; ++piece)
      for (int p = 0; p < (piece % 2 ? 3 : 1); ++p) line[point++] = gather(slots + p * lanes, rows + piece * lanes);
    for (std::size_t i = 0; i < 3; ++i) {
      Pack sum = projection[i][0] * line[0];
      for (std::size_t g = 1; g < split_points; ++g) sum += projection[i][g] * line[g];
      pack_at(slots + share.hanging_slots[1] + (b * 3 + static_cast<int>(i)) * lanes) = sum;
    }
  }
}

inline void project_faces(const Share& share, double* slots) {
  for (int b = 0; b < batches_of(share.split[2]); ++b) {
    const int* rows = share.piece_slots[2].data() + b * pieces * pieces * lanes;
    Pack points[split_points * split_points];
    for (int piece = 0, point = 0; piece < pieces * pieces; ++piece) {
      int count = (piece % pieces % 2 ? 3 : 1) * (piece / pieces % 2 ? 3 : 1);
      for (int p = 0; p < count; ++p) points[point++] = gather(slots + p * lanes, rows + piece * lanes);
    }
    Pack sums[9] = {};
    for (std::size_t v = 0; v < split_points; ++v)
      for (std::size_t i = 0; i < 3; ++i) {
        Pack row{};
        for (std::size_t u = 0; u < split_points; ++u)
          row += projection[i][u] * points[face_place[u + split_points * v]];
        for (std::size_t j = 0; j < 3; ++j) sums[i + 3 * j] += projection[j][v] * row;
      }
    for (int p = 0; p < 9; ++p) pack_at(slots + share.hanging_slots[2] + (b * 9 + p) * lanes) = sums[p];
  }
}

inline void project_to_mortars(const Share& share, double* slots) {
  project_edges(share, slots);
  project_faces(share, slots);
}

// Applies the transposed projection: from what elements give to their split edges and faces to the points of these.
inline void project_back(const Share& share, double* parts) {
  for (int b = 0; b < batches_of(share.split[1]); ++b) {
    const int* from = share.element_parts[1].data() + b * lanes;
    double* to = parts + share.back_parts[1] + b * split_points * lanes;
    Pack given[3];
    for (int i = 0; i < 3; ++i) given[i] = gather(parts + i * lanes, from);
    for (std::size_t g = 0; g < split_points; ++g)
      pack_at(to + static_cast<int>(g) * lanes) =
          projection[0][g] * given[0] + projection[1][g] * given[1] + projection[2][g] * given[2];
  }
  for (int b = 0; b < batches_of(share.split[2]); ++b) {
    const int* from = share.element_parts[2].data() + b * lanes;
    double* to = parts + share.back_parts[2] + b * split_points * split_points * lanes;
    Pack given[9];
    for (int p = 0; p < 9; ++p) given[p] = gather(parts + p * lanes, from);
    for (std::size_t v = 0; v < split_points; ++v) {
      Pack row[3];
      for (std::size_t i = 0; i < 3; ++i)
        row[i] = projection[0][v] * given[i] + projection[1][v] * given[i + 3] + projection[2][v] * given[i + 6];
      for (std::size_t u = 0; u < split_points; ++u)
        pack_at(to + face_place[u + split_points * v] * lanes) =
            projection[0][u] * row[0] + projection[1][u] * row[1] + projection[2][u] * row[2];
    }
  }
}

enum class Sources { direct, all };

// Calls use(slot, sums, batch) for each batch of a thread's mortars of one kind. `sums` adds the contributions of the
// elements that own the points, or of all elements. The loop runs backwards, because the parts that were written last
// are still in the caches.
template <std::size_t kind, Sources which, class Use>
inline void each_mortar(const Share& share, const double* parts, Use use) {
  constexpr int points = points_of_kind[kind];
  int slot = share.mortar_slots[kind] + static_cast<int>(share.batches[kind].size()) * points * lanes;
  for (std::size_t i = share.batches[kind].size(); i-- > 0;) {
    const Batch& batch = share.batches[kind][i];
    const int* row = share.sources.data() + batch.first;
    const int* end = row + (batch.direct + (which == Sources::all ? batch.back : 0)) * lanes;
    Pack sums[points] = {};
    for (; row < end; row += lanes)
      for (int p = 0; p < points; ++p) sums[p] += gather(parts + p * lanes, row);
    slot -= points * lanes;
    for (int p = 0; p < points; ++p) use(slot + p * lanes, sums[p], batch);
  }
}

template <Sources which, class Use>
inline void each_mortar(const Share& share, const double* parts, Use use) {
  each_mortar<2, which>(share, parts, use);
  each_mortar<1, which>(share, parts, use);
  each_mortar<0, which>(share, parts, use);
}

// Calls use(slot) for each batch, without sums.
template <class Use>
inline void each_slot(const Share& share, Use use) {
  for (int kind = 2; kind >= 0; --kind) {
    auto k = static_cast<std::size_t>(kind);
    int first = share.mortar_slots[k], count = batches_of(share.count(kind)) * points_of_kind[k];
    for (int slot = first; slot < first + count * lanes; slot += lanes) use(slot);
  }
}

}  // namespace steelyard::npb::ua
