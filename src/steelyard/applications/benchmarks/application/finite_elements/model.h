// The program for threads and for ranks: structure, assembly, boundary conditions, solution, proof of the result.
#pragma once
#include <string>

#include "../npb/problem.h"
#include "proof.h"
#include "solver.h"

namespace steelyard::finite_elements {

// The content of one operation: all four phases, only the assembly, or a number of iterations of the solver.
enum class Stage { program, assembly, solver };

// The parameters of a case.
struct Request {
  Triple elements;
  std::size_t iterations;  // only the kernel "solver" has them
  MemoryPolicy policy;

  Request(Params& p, const std::string& model)
      : elements(choose_edges(p.count("elements", 32768))), iterations(p.count("iterations", 50)), policy(p) {
    p.choice("model", model, {model});
    if (iterations < 1 || iterations > most_steps)
      throw CaseError(join({"iterations='", iterations, "' cannot be used: expected 1 to ", most_steps}));
  }
  // Checks the memory before the allocation, for this number of parts on this host.
  void require(const Part& part, std::size_t parts) const {
    auto bytes = static_cast<std::size_t>((System::bytes(part) + 48.0 * static_cast<double>(part.all)) *
                                          static_cast<double>(parts));
    if (std::size_t available = available_memory(); bytes > available)
      throw CaseError(
          join({"not enough memory: a mesh of ", elements[0], " x ", elements[1], " x ", elements[2],
                " elements needs ", bytes >> 20, " MiB on this host, but ", available >> 20, " MiB may be used"}));
  }
};

// The bounds of the errors. An entry of the matrix is about as large as the width of an element.
struct ErrorBounds {
  double rounding, error, source;
  explicit ErrorBounds(const Triple& elements) {
    double h = width(elements);
    rounding = 1e-14 * h * std::sqrt(nodes(elements));  // a norm over all rows
    error = 1.5 * h * h;  // bound of the error of the solution; with 4096 and with 262144 elements the error is 1.13 h²
    source = 24 * h * h;  // bound of the error of the right-hand side; on an even grid it is 6 π h²
  }
};

// A Link has the functions of the solver's Link, and also `each(call)`, a call by every worker, and `combine(proof)`.
template <class Link, Stage stage>
class Model {
 public:
  Model(const Request& request, const Part& part, Team& team, Link& link)
      : request_(request),
        bounds_(request.elements),
        link_(link),
        system_(part, request.policy, team),
        solver_(system_, link, request.policy, team),
        phases_(stage == Stage::program, {"structure", "assembly", "boundary conditions", "solve"}) {
    if (stage == Stage::program) return;
    link.each([&](Worker w) {
      system_.structure(w);
      link_.meet(w);
      if (stage == Stage::solver) assemble(w), system_.impose_boundary(w), link_.meet(w);
    });
  }

  // Clears the result: the result of an earlier run would pass the check.
  void prepare(Worker w) {
    if (stage != Stage::solver) system_.clear(w);
    solver_.begin(w);
    if (w.index == 0) outcome_ = {}, ran_ = false;
    link_.meet(w);
  }
  void run(Worker w) {
    if (w.index == 0) phases_.begin();
    if (stage == Stage::program) structure(w);
    if (stage != Stage::solver) assemble(w);
    if (stage == Stage::program) solve(w);
    if (stage == Stage::solver) keep_outcome(w, solver_.solve(w, request_.iterations));
    if (w.index == 0) ran_ = true;
  }
  void corrupt() {
    const Triple& size = system_.part.size;  // the middle lies on no face, at least on the first rank
    std::size_t at = system_.part.line(size[1] / 2, size[2] / 2)[size[0] / 2];
    (stage == Stage::assembly ? system_.matrix.values[entries * at + diagonal] : solver_.x[at]) += 1e-3;
  }
  Work work() const {
    double rows = nodes(request_.elements), elements = count_of(request_.elements);
    double steps = static_cast<double>(outcome_.steps);  // a small mesh needs fewer iterations than requested
    double product = entries * (bytes_an_entry + 0.0), vectors = 10 * sizeof(double);  // bytes per row and iteration
    double assembled = stage == Stage::solver ? 0 : elements * flops_an_element;
    double matrix = rows * entries * sizeof(double);
    double flops = stage == Stage::assembly ? 0 : steps * rows * (2 * entries + 10);
    double bytes = stage == Stage::assembly ? matrix : steps * rows * (product + vectors);
    return {{"operations", stage == Stage::assembly ? elements : steps * unknowns(request_.elements)},
            {"elements", elements},
            {"iterations", stage == Stage::assembly ? 0 : steps},
            {"flops", assembled + flops},
            {"bytes", bytes + (stage == Stage::program ? 2 * matrix : 0)},
            {"working_set", rows * (product + vectors)}};
  }
  Check check() {
    if (!ran_) return {false, "nothing ran"};
    if (stage == Stage::assembly) set_exact_solution();
    examine_result();
    std::string wrong = describe_wrong_matrix();
    if (wrong.empty() && stage != Stage::assembly) wrong = describe_wrong_residual();
    if (wrong.empty() && stage == Stage::solver) finish_solution();
    if (wrong.empty() && stage != Stage::assembly) wrong = describe_wrong_solution();
    return {wrong.empty(), wrong.empty() ? describe_success() : wrong};
  }
  std::string details() const {
    json::Object out;
    const Triple& e = request_.elements;
    out.add("elements", json::list(std::vector<int>(e.begin(), e.end())))
        .add("parts", json::list(std::vector<int>(system_.part.parts.begin(), system_.part.parts.end())))
        .add("unknowns", unknowns(e))
        .add("source", total_);
    if (stage != Stage::assembly)
      out.add("iterations", outcome_.steps)
          .add("reduction", outcome_.residual / outcome_.first)
          .add("residual", std::sqrt(proof_.square))
          .add("error", std::sqrt(proof_.error))
          .add("error_allowed", bounds_.error)
          .add("moment", proof_.moment);
    if (stage == Stage::program) out.add("phases", phases_.json());
    return out.str();
  }

 private:
  void end_phase(Worker w, std::size_t phase) {
    if (w.index == 0) phases_.end_phase(phase);
  }
  void structure(Worker w) {
    system_.structure(w);
    link_.meet(w);
    end_phase(w, 0);
  }
  void assemble(Worker w) {
    double sum = link_.sum(w, std::array{system_.assemble(w)})[0];
    if (w.index == 0) total_ = sum;
    end_phase(w, 1);
  }
  void solve(Worker w) {
    system_.impose_boundary(w);
    link_.meet(w);
    end_phase(w, 2);
    solver_.begin(w);
    keep_outcome(w, solver_.solve(w, most_steps));
    end_phase(w, 3);
  }
  void keep_outcome(Worker w, const SolverOutcome& outcome) {
    if (w.index == 0) outcome_ = outcome;
  }
  // Sets x to the analytic solution at the nodes, so that the matrix is multiplied by a known vector.
  void set_exact_solution() {
    const Part& part = system_.part;
    link_.each([&](Worker w) {
      system_.visit_lines(w, [&](int y, int z) {
        for (int x = 0; x < part.size[0]; ++x) solver_.x[part.line(y, z)[x]] = exact_solution(system_.mesh.at(x, y, z));
      });
      link_.meet(w);
    });
  }
  void examine_result() {
    link_.each([&](Worker w) { solver_.residual(w); });
    proof_ = Examiner(system_, solver_.p.data(), stage != Stage::assembly).examine_result(solver_.r.data());
    link_.combine_proofs(proof_);
  }
  void finish_solution() {
    link_.each([&](Worker w) {
      SolverOutcome rest = solver_.solve(w, most_steps, outcome_.first);
      if (w.index == 0) finished_ = rest;
    });
    examine_result();
  }
  static std::string excess(const std::string& what, double value, double allowed) {
    if (value <= allowed) return "";
    return join({what, " is ", value, ", allowed ", allowed});
  }
  std::string describe_wrong_matrix() const {
    double h = width(request_.elements), entry = 1e-13 * h;
    std::string out = excess("an entry's difference from its mirror image", proof_.worst_pair, entry);
    if (out.empty()) out = excess("the sum of a row that no face changed", proof_.worst_row, entry);
    if (out.empty())
      out = excess("the difference of the right-hand side's sum from the source in the cube",
                   std::abs(total_ - whole_source), bounds_.source);
    if (out.empty())
      out = excess("the difference of the residuals by the matrix and by the elements", std::sqrt(proof_.difference),
                   bounds_.rounding);
    return out;
  }
  std::string describe_wrong_residual() const {
    if (outcome_.steps == 0) return "no iteration was made";
    double off = std::abs(std::sqrt(proof_.square) - outcome_.residual);
    std::string out = excess("the difference of the residual from that of the recurrence", off, 10 * bounds_.rounding);
    if (out.empty() && stage == Stage::program)
      out = excess("the residual, as a share of the first", outcome_.residual / outcome_.first, reduction);
    return out;
  }
  std::string describe_wrong_solution() const {
    if (stage == Stage::solver && !(finished_.residual <= reduction * outcome_.first))
      return "the solver did not come to the end from where the iterations left it";
    return excess("the error against the analytic solution", std::sqrt(proof_.error), bounds_.error);
  }
  std::string describe_success() const {
    if (stage == Stage::assembly)
      return join(
          {"symmetric; the products by the matrix and by the elements differ by ", std::sqrt(proof_.difference)});
    return join({"error against the analytic solution ", std::sqrt(proof_.error), ", allowed ", bounds_.error,
                 "; residual ", std::sqrt(proof_.square), " after ", outcome_.steps, " iterations"});
  }

  Request request_;
  ErrorBounds bounds_;
  Link& link_;
  System system_;
  Solver<Link> solver_;
  npb::PhaseTimes phases_;
  SolverOutcome outcome_, finished_;
  Proof proof_;
  double total_ = NAN;
  bool ran_ = false;
};

}  // namespace steelyard::finite_elements
