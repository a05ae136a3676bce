// Counting with a bit matrix (ToPSS 3.3): 64 subscriptions per word, hit and count vectors as bit planes.
#include "common.hpp"

extern "C" void run(const Workload* workload) {
    const Workload& w = *workload;
    constexpr int64_t STRETCH = 512;
    double start = now();
    Clusters clusters(w.attributes);
    clusters.add(w, all_predicates(w));
    int64_t words = (w.subscriptions + 63) / 64, planes = 1;
    for (int64_t s = 0; s < w.subscriptions; s++)
        while ((w.starts[s + 1] - w.starts[s]) >> planes) planes++;
    std::vector<uint64_t> matrix(w.predicates * words, 0), counts(planes * words, 0), hits(planes * STRETCH), carry(STRETCH);
    for (int64_t s = 0; s < w.subscriptions; s++) {
        int64_t size = w.starts[s + 1] - w.starts[s];
        for (int64_t p = 0; p < planes; p++) counts[p * words + s / 64] |= (uint64_t)(size >> p & 1) << (s % 64);
        for (int64_t k = w.starts[s]; k < w.starts[s + 1]; k++)
            matrix[w.pids[k] * words + s / 64] |= (uint64_t)1 << (s % 64);
    }
    w.seconds[0] = now() - start;

    double matching = 0;
    std::vector<int32_t> satisfied, matched;
    for (int64_t e = 0; e < w.events; e++) {
        start = now();
        clusters.search(w.values + e * w.attributes, w.attributes, satisfied);
        std::sort(satisfied.begin(), satisfied.end());
        matched.clear();
        for (int64_t base = 0; base < words; base += STRETCH) {
            int64_t width = std::min(STRETCH, words - base);
            std::fill(hits.begin(), hits.end(), 0);
            for (int32_t pid : satisfied) {
                const uint64_t* line = matrix.data() + pid * words + base;
                std::copy(line, line + width, carry.begin());
                for (int64_t p = 0; p < planes; p++) {  // plane by plane, so that the compiler can use wide registers
                    uint64_t* plane = hits.data() + p * STRETCH;
                    for (int64_t k = 0; k < width; k++) {
                        uint64_t both = plane[k] & carry[k];
                        plane[k] ^= carry[k];
                        carry[k] = both;
                    }
                }
            }
            for (int64_t k = 0; k < width; k++) {
                uint64_t differ = 0, some = 0;
                for (int64_t p = 0; p < planes; p++) {
                    differ |= hits[p * STRETCH + k] ^ counts[p * words + base + k];
                    some |= counts[p * words + base + k];
                }
                for (uint64_t left = ~differ & some; left; left &= left - 1)
                    matched.push_back((int32_t)(64 * (base + k) + __builtin_ctzll(left)));
            }
        }
        matching += now() - start;
        record(w, e, matched);
    }
    w.seconds[1] = matching;
}
