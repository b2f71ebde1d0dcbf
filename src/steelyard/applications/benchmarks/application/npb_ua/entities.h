// The order of the 125 nodes of an element: corners, edges, faces and the inside follow each other as runs of points.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "simd.h"

namespace steelyard::npb::ua {

// A Pack holds one value of several elements or mortars: each lane belongs to one of them.
constexpr int lanes = static_cast<int>(pack_doubles);
constexpr int side = 5;  // nodes along an edge of an element: polynomial order 4
constexpr int nodes = side * side * side;

using Triple = std::array<int, 3>;

// A corner, edge or face of an element, or its inside. Its code has a digit per direction: 0 is the low end, 1 lies
// between the ends, 2 is the high end.
struct Entity {
  Triple code;
  int kind;    // directions in which it extends: 0 a corner, 1 an edge, 2 a face, 3 the inside
  int points;  // nodes inside it, without those on its rim: 3^kind
  int first;   // index of its first point
};

constexpr int entity_count = 27, inside = 13;  // the code of the inside has the digit 1 in each direction
constexpr int surface = 98;                    // nodes on the surface; the inside nodes come after them

constexpr int number_of(const Triple& code) { return code[0] + 3 * code[1] + 9 * code[2]; }

constexpr std::array<Entity, entity_count> entities = [] {
  std::array<Entity, entity_count> out{};
  for (int n = 0, first = 0; n < entity_count; ++n) {
    Entity& entity = out[static_cast<std::size_t>(n)];
    entity = {{n % 3, n / 3 % 3, n / 9}, 0, 1, first};
    for (int c : entity.code)
      if (c == 1) ++entity.kind, entity.points *= 3;
    if (n == inside)
      entity.first = surface;
    else
      first += entity.points;
  }
  return out;
}();

// The node number i + 5j + 25k of each point in this order. Within an entity, the lower direction varies fastest.
constexpr std::array<int, nodes> node_at = [] {
  std::array<int, nodes> out{};
  for (const Entity& entity : entities)
    for (int p = 0; p < entity.points; ++p) {
      int node = 0, rest = p, stride = 1;
      for (int c : entity.code) {
        node += stride * (c == 1 ? 1 + rest % 3 : 2 * c);
        if (c == 1) rest /= 3;
        stride *= side;
      }
      out[static_cast<std::size_t>(entity.first + p)] = node;
    }
  return out;
}();

constexpr std::array<int, nodes> place_of = [] {
  std::array<int, nodes> out{};
  for (std::size_t place = 0; place < nodes; ++place)
    out[static_cast<std::size_t>(node_at[place])] = static_cast<int>(place);
  return out;
}();

// A split edge consists of two edges of half its length: it has 5 pieces (end, half, middle, half, end), 9 points.
// A split face has 5 x 5 pieces and 81 points. The points of each piece follow each other as in an entity.
constexpr int pieces = 5, split_points = 9;
constexpr std::array<int, pieces + 1> piece_first = {0, 1, 4, 5, 8, 9};

constexpr std::array<int, pieces * pieces> face_piece_first = [] {
  std::array<int, pieces * pieces> out{};
  for (int n = 0, first = 0; n < pieces * pieces; ++n) {
    out[static_cast<std::size_t>(n)] = first;
    first += (n % pieces % 2 ? 3 : 1) * (n / pieces % 2 ? 3 : 1);
  }
  return out;
}();

// Returns the index, in the order of the pieces, of the point u + 9v of a split face.
constexpr std::array<int, split_points * split_points> face_place = [] {
  std::array<int, split_points * split_points> out{};
  for (std::size_t v = 0; v < pieces; ++v)
    for (std::size_t u = 0; u < pieces; ++u) {
      int place = face_piece_first[u + pieces * v];
      for (int row = piece_first[v]; row < piece_first[v + 1]; ++row)
        for (int column = piece_first[u]; column < piece_first[u + 1]; ++column)
          out[static_cast<std::size_t>(column + split_points * row)] = place++;
    }
  return out;
}();

// Loads one double for each lane, from `from` plus the index of the lane.
inline Pack gather(const double* from, const int* index) {
#if defined(__AVX512F__)
  __m256i displacement = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
  return reinterpret_cast<Pack>(_mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, displacement, from, 8));
#else
  Pack out;
  for (int lane = 0; lane < lanes; ++lane) out[lane] = from[index[lane]];
  return out;
#endif
}

inline double total(Pack values) {
  double out = 0;
  for (int lane = 0; lane < lanes; ++lane) out += values[lane];
  return out;
}

}  // namespace steelyard::npb::ua
