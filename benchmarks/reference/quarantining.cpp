// Equality-preferred with quarantining (Le Subscribe, figure 5): hashed clusters, verification, counting for the rest.
#include <unordered_map>
#include "common.hpp"

struct Hash {
    size_t operator()(const std::vector<int32_t>& values) const {
        size_t h = 1469598103934665603ull;
        for (int32_t v : values) h = (h ^ (uint32_t)v) * 1099511628211ull;
        return h;
    }
};

extern "C" void run(const Workload* workload) {
    const Workload& w = *workload;
    double start = now();
    using Cluster = std::unordered_map<std::vector<int32_t>, std::vector<int32_t>, Hash>;
    std::unordered_map<uint64_t, Cluster> clusters;  // by set of attributes
    std::vector<std::vector<int32_t>> rest(w.subscriptions), lists(w.predicates);
    std::vector<int32_t> quarantined, counted;
    std::vector<uint8_t> sizes(w.subscriptions), hits(w.subscriptions, 0), used(w.predicates, 0);
    for (int64_t s = 0; s < w.subscriptions; s++) {
        uint64_t schema = 0;
        std::vector<std::pair<int32_t, int32_t>> equal;
        for (int64_t k = w.starts[s]; k < w.starts[s + 1]; k++) {
            int32_t p = w.pids[k];
            if (w.op[p] == EQ) {
                schema |= (uint64_t)1 << w.attribute[p];
                equal.push_back({w.attribute[p], w.constant[p]});
            } else {
                rest[s].push_back(p);
            }
        }
        if (schema) {
            std::sort(equal.begin(), equal.end());
            std::vector<int32_t> key;
            for (auto& one : equal) key.push_back(one.second);
            clusters[schema][key].push_back((int32_t)s);
        } else if (!rest[s].empty()) {
            quarantined.push_back((int32_t)s);
            sizes[s] = (uint8_t)rest[s].size();
            for (int32_t p : rest[s]) {
                lists[p].push_back((int32_t)s);
                if (!used[p]) counted.push_back(p);
                used[p] = 1;
            }
        }
    }
    Clusters sorted(w.attributes);
    sorted.add(w, counted);
    w.seconds[0] = now() - start;

    double matching = 0;
    std::vector<int32_t> satisfied, matched, key;
    for (int64_t e = 0; e < w.events; e++) {
        start = now();
        const int32_t* event = w.values + e * w.attributes;
        uint64_t given = 0;
        for (int64_t a = 0; a < w.attributes; a++)
            if (event[a] != MISSING) given |= (uint64_t)1 << a;
        matched.clear();
        for (auto& [schema, cluster] : clusters) {
            if (schema & ~given) continue;
            key.clear();
            for (int64_t a = 0; a < w.attributes; a++)
                if (schema >> a & 1) key.push_back(event[a]);
            auto found = cluster.find(key);
            if (found == cluster.end()) continue;
            for (int32_t s : found->second) {
                bool passed = true;
                for (int32_t p : rest[s])
                    if (!holds(w.op[p], event[w.attribute[p]], w.constant[p])) { passed = false; break; }
                if (passed) matched.push_back(s);
            }
        }
        sorted.search(event, w.attributes, satisfied);
        for (int32_t p : satisfied)
            for (int32_t s : lists[p]) hits[s]++;
        for (int32_t s : quarantined) {
            if (hits[s] == sizes[s]) matched.push_back(s);
            hits[s] = 0;
        }
        matching += now() - start;
        record(w, e, matched);
    }
    w.seconds[1] = matching;
}
