package web

import (
	"cmp"
	"maps"
	"slices"
)

// lateIndex is by how many blocks the Data service is behind where it does not
// know of deliveries yet.
const lateIndex = 300

// addMoney tells of what is on its way between chains, and whether the wallet
// that tops up validators lasts.
func (p *page) addMoney() {
	furthest := map[string]float64{}
	p.each("avax_chain_height", []string{"chain"}, func(l labels, height float64) { furthest[l[0]] = max(furthest[l[0]], height) })
	indexed := p.by("avax_data_indexed_height", "chain")
	oldest := map[labels]float64{}
	p.each("avax_icm_oldest_pending_timestamp_seconds", []string{"source", "destination"}, func(l labels, sent float64) {
		if was, has := oldest[l]; !has || sent < was {
			oldest[l] = sent
		}
	})
	byAge := slices.SortedFunc(maps.Keys(oldest), func(a, b labels) int {
		return cmp.Or(cmp.Compare(oldest[a], oldest[b]), slices.Compare(a[:], b[:]))
	})
	for _, l := range byAge {
		if known := indexed.of(l[1]); known != nil && furthest[l[1]]-*known > lateIndex {
			continue
		}
		sent := oldest[l]
		waited := -*p.left(&sent)
		p.problems.add("AvaxICMUndelivered", over("AvaxICMUndelivered", &waited), 1,
			place{Text: l[0] + " to " + l[1] + ", sent " + moment(p.Now, &sent, "").Text})
	}

	var has, burns *float64
	sum := func(to **float64) func(labels, float64) {
		return func(l labels, v float64) {
			if l[0] == "" || l[0] == "unlocked" {
				if *to != nil {
					v += **to
				}
				*to = &v
			}
		}
	}
	p.each("avax_platform_balance_avax", []string{"state"}, sum(&has))
	p.each("avax_l1_validator_burn_avax_per_day", nil, sum(&burns))
	if has != nil && burns != nil && *burns > 0 {
		days := *has / *burns
		p.problems.add("AvaxTopUpWalletLow", under("AvaxTopUpWalletLow", &days), 1, place{Text: p.in(days * day).Text})
	}
}
