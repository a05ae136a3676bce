// What the references share: the encoded workload, and the predicates an event satisfies.
// Straightforward C++: standard containers, no intrinsics, no threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <vector>

enum Op : int8_t { EQ, NE, LT, LE, GT, GE, PRESENT };
constexpr int32_t MISSING = INT32_MIN;

struct Workload {
    int64_t predicates, subscriptions, events, attributes;
    const int32_t* attribute;  // per predicate
    const int8_t* op;
    const int32_t* constant;
    const int64_t* starts;  // subscription s has the predicates pids[starts[s]] .. pids[starts[s + 1]]
    const int32_t* pids;
    const int32_t* values;  // events × attributes, MISSING where missing
    int64_t* counts;        // out: matches per event
    int64_t* checksum;      // out: sum of the matching subscriptions' numbers
    double* seconds;        // out: building, matching
};

// Processor time of this thread: a busy machine must not decide who is faster.
inline double now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

inline bool holds(int8_t op, int32_t value, int32_t constant) {
    if (value == MISSING) return false;
    switch (op) {
        case EQ: return value == constant;
        case NE: return value != constant;
        case LT: return value < constant;
        case LE: return value <= constant;
        case GT: return value > constant;
        case GE: return value >= constant;
    }
    return true;
}

// Sorted clusters per attribute and operator, searched by bisection.
struct Clusters {
    struct Cluster { std::vector<int32_t> constants, ids; };
    std::vector<Cluster> of;  // attribute * 7 + operator

    explicit Clusters(int64_t attributes) : of(attributes * 7) {}

    void add(const Workload& w, const std::vector<int32_t>& chosen) {
        std::vector<int32_t> sorted(chosen);
        std::sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) { return w.constant[a] < w.constant[b]; });
        for (int32_t p : sorted) {
            Cluster& c = of[w.attribute[p] * 7 + w.op[p]];
            c.constants.push_back(w.constant[p]);
            c.ids.push_back(p);
        }
    }

    void search(const int32_t* event, int64_t attributes, std::vector<int32_t>& out) const {
        out.clear();
        for (int64_t a = 0; a < attributes; a++) {
            if (event[a] == MISSING) continue;
            for (int op = EQ; op <= PRESENT; op++) {
                const Cluster& c = of[a * 7 + op];
                if (c.ids.empty()) continue;
                auto first = c.constants.begin(), last = c.constants.end();
                size_t left = std::lower_bound(first, last, event[a]) - first;
                size_t right = std::upper_bound(first, last, event[a]) - first, end = c.ids.size();
                auto take = [&](size_t from, size_t to) { out.insert(out.end(), c.ids.begin() + from, c.ids.begin() + to); };
                switch (op) {
                    case EQ: take(left, right); break;
                    case NE: take(0, left); take(right, end); break;
                    case LT: take(right, end); break;
                    case LE: take(left, end); break;
                    case GT: take(0, left); break;
                    case GE: take(0, right); break;
                    default: take(0, end);
                }
            }
        }
    }
};

inline std::vector<int32_t> all_predicates(const Workload& w) {
    std::vector<int32_t> all(w.predicates);
    for (int64_t p = 0; p < w.predicates; p++) all[p] = (int32_t)p;
    return all;
}

inline void record(const Workload& w, int64_t event, const std::vector<int32_t>& matched) {
    int64_t sum = 0;
    for (int32_t s : matched) sum += s;
    w.counts[event] = (int64_t)matched.size();
    w.checksum[event] = sum;
}
