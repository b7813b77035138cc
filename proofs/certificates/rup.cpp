// Forward check of a proof by reverse unit propagation (RUP).
//
// A clause follows if assuming all its literals false and propagating units reaches a
// conflict. Clauses are never deleted, which is sound: more clauses only propagate more.
// Units at the top level are never undone.
//
// Two watched literals a clause: while neither is false the clause needs no look.
// Invariant outside propagate(): a clause of two or more literals in the store watches
// its first two, and if one of them is false at the top level the other is true there.

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {

enum Answer { ACCEPTED = 0, NOT_IMPLIED = 1, NO_CONTRADICTION = 2, MALFORMED = 3 };

struct Checker {
    std::vector<std::vector<int>> clauses;
    std::vector<std::vector<int>> watches;  // literal -> clauses that watch it
    std::vector<signed char> value;         // literal -> 1 true, -1 false, 0 open
    std::vector<int> trail;
    bool contradiction = false;

    static size_t index(int literal) {
        return 2 * static_cast<size_t>(std::abs(literal)) + (literal < 0);
    }

    explicit Checker(int literals)
        : watches(2 * static_cast<size_t>(literals) + 2),
          value(2 * static_cast<size_t>(literals) + 2, 0) {}

    void assign(int literal) {
        value[index(literal)] = 1;
        value[index(-literal)] = -1;
        trail.push_back(literal);
    }

    void undo(size_t size) {
        while (trail.size() > size) {
            value[index(trail.back())] = 0;
            value[index(-trail.back())] = 0;
            trail.pop_back();
        }
    }

    // Propagate from position `next` of the trail; return whether a clause is false.
    bool propagate(size_t next) {
        for (; next < trail.size(); ++next) {
            const int falsified = -trail[next];
            std::vector<int>& watching = watches[index(falsified)];
            size_t kept = 0;
            for (size_t i = 0; i < watching.size(); ++i) {
                const int number = watching[i];
                std::vector<int>& clause = clauses[number];
                if (clause[0] == falsified) std::swap(clause[0], clause[1]);
                if (value[index(clause[0])] == 1) {
                    watching[kept++] = number;
                    continue;
                }
                size_t other = 2;
                while (other < clause.size() && value[index(clause[other])] == -1) ++other;
                if (other < clause.size()) {
                    std::swap(clause[1], clause[other]);
                    watches[index(clause[1])].push_back(number);
                    continue;
                }
                watching[kept++] = number;
                if (value[index(clause[0])] == -1) {
                    while (++i < watching.size()) watching[kept++] = watching[i];
                    watching.resize(kept);
                    return true;
                }
                assign(clause[0]);
            }
            watching.resize(kept);
        }
        return false;
    }

    // Add a clause that is given or was shown to follow.
    void add(std::vector<int> clause) {
        std::sort(clause.begin(), clause.end());
        clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
        std::vector<int> open;
        for (int literal : clause) {
            if (value[index(literal)] == 1) return;  // true for good
            if (std::binary_search(clause.begin(), clause.end(), -literal)) return;
            if (value[index(literal)] == 0) open.push_back(literal);
        }
        if (open.empty()) {
            contradiction = true;
        } else if (open.size() == 1) {
            const size_t start = trail.size();
            assign(open[0]);
            if (propagate(start)) contradiction = true;
        } else {
            const int number = static_cast<int>(clauses.size());
            watches[index(open[0])].push_back(number);
            watches[index(open[1])].push_back(number);
            clauses.push_back(std::move(open));  // false literals stay false
        }
    }

    bool implies(const std::vector<int>& clause) {
        const size_t start = trail.size();
        bool conflict = false;
        for (int literal : clause) {
            if (value[index(literal)] == 1) conflict = true;
            if (value[index(literal)] == 0) assign(-literal);
        }
        if (!conflict) conflict = propagate(start);
        undo(start);
        return conflict;
    }
};

// Read one clause that ends with 0; return false at a literal out of range.
bool read_clause(const int*& next, const int* end, int literals, std::vector<int>& clause) {
    clause.clear();
    for (; next < end && *next; ++next) {
        if (std::abs(static_cast<long>(*next)) > literals) return false;
        clause.push_back(*next);
    }
    if (next == end) return false;
    ++next;
    return true;
}

}  // namespace

// Return an Answer; `*step` counts the lemmas that were read.
extern "C" int rup_check(int literals, const int* given, long given_size,
                         const int* lemmas, long lemmas_size, long* step) {
    Checker checker(literals);
    std::vector<int> clause;
    *step = 0;
    for (const int *next = given, *end = given + given_size; next < end;) {
        if (!read_clause(next, end, literals, clause)) return MALFORMED;
        if (!checker.contradiction) checker.add(clause);
    }
    for (const int *next = lemmas, *end = lemmas + lemmas_size; next < end;) {
        if (checker.contradiction) return ACCEPTED;
        ++*step;
        if (!read_clause(next, end, literals, clause)) return MALFORMED;
        if (!checker.implies(clause)) return NOT_IMPLIED;
        checker.add(clause);
    }
    return checker.contradiction ? ACCEPTED : NO_CONTRADICTION;
}
