// Counting with lists (ToPSS 3.3): predicate -> subscriptions, a hit vector, a final comparison.
#include "common.hpp"

extern "C" void run(const Workload* workload) {
    const Workload& w = *workload;
    double start = now();
    Clusters clusters(w.attributes);
    clusters.add(w, all_predicates(w));
    std::vector<std::vector<int32_t>> lists(w.predicates);
    std::vector<uint8_t> sizes(w.subscriptions), hits(w.subscriptions, 0);
    for (int64_t s = 0; s < w.subscriptions; s++) {
        sizes[s] = (uint8_t)(w.starts[s + 1] - w.starts[s]);
        for (int64_t k = w.starts[s]; k < w.starts[s + 1]; k++) lists[w.pids[k]].push_back((int32_t)s);
    }
    w.seconds[0] = now() - start;

    double matching = 0;
    std::vector<int32_t> satisfied, matched;
    for (int64_t e = 0; e < w.events; e++) {
        start = now();
        clusters.search(w.values + e * w.attributes, w.attributes, satisfied);
        for (int32_t p : satisfied)
            for (int32_t s : lists[p]) hits[s]++;
        matched.clear();
        for (int64_t s = 0; s < w.subscriptions; s++)
            if (hits[s] == sizes[s] && sizes[s]) matched.push_back((int32_t)s);
        std::memset(hits.data(), 0, hits.size());
        matching += now() - start;
        record(w, e, matched);
    }
    w.seconds[1] = matching;
}
