package web

// headView is how far a node is on a chain.
type headView struct {
	height, made  cell // empty where they are not known
	stale, halted bool // it stands still; all nodes do
	lag           level
	behind        float64 // blocks behind the node that is furthest
}

// A head is stale once it has been older than the bar of AvaxHeadStale for as
// long as that alert waits: that takes no memory. A node that is few blocks
// behind a head that young was asked before the others.
const (
	headWait  = 5 * 60.0
	headYoung = 30.0
)

// headViews judges how far the nodes are, by node and chain, as AvaxHeadStale,
// AvaxHeadLag and AvaxChainHalted do. A chain may stand still because nobody uses
// it: something has to show that it should move. On the C- and the P-Chain of a
// public network it always should.
func (p *page) headViews(f *nodeFacts) map[labels]headView {
	heights := p.by("avax_chain_height", "node", "chain")
	made := p.by("avax_chain_head_timestamp_seconds", "node", "chain")
	processing := p.by("avax_chain_processing_blocks", "node", "chain")
	public := map[string]bool{}
	p.each("avax_node_info", []string{"node", "network_id"}, func(l labels, _ float64) { public[l[0]] = l[1] == "1" || l[1] == "5" })

	// Of what is down, elsewhere, or not at the head for a reason that is told, nothing is judged.
	judged := func(node, chain string) bool {
		return !f.up.is(0, node) && !f.foreign.is(1, node) && !f.isolated(node) && !f.forked.is(1, node, chain) && !f.bootstrapped.is(0, node, chain)
	}
	age := func(l labels) *float64 { // seconds
		at := made.of(l[0], l[1])
		if at == nil {
			return nil
		}
		age := -*p.left(at)
		return &age
	}
	furthest := map[string]labels{} // by chain
	for l, height := range heights {
		if best, has := furthest[l[1]]; judged(l[0], l[1]) && (!has || height > heights[best]) {
			furthest[l[1]] = l
		}
	}

	heads := make(map[labels]headView, len(heights))
	sound, moving := map[string]int{}, map[string]bool{} // by chain
	for l, height := range heights {
		h := headView{height: cell{Text: count(height), Title: "height of the newest block"}}
		if at := made.of(l[0], l[1]); at != nil {
			h.made = moment(p.Now, at, "")
			h.made.Title = "when the newest block was made: " + h.made.Title
		}
		if judged(l[0], l[1]) {
			best := furthest[l[1]]
			h.behind = heights[best] - height
			h.lag = over("AvaxHeadLag", &h.behind)
			young := age(best)
			late := h.lag > well || h.behind > 0 && young != nil && *young > headYoung
			usual := l[1] == "C" || l[1] == "P" // chains that people use
			busy := usual && public[l[0]]
			if waits := processing.of(l[0], l[1]); waits != nil && *waits > 0 {
				busy = true
			}
			if old := age(l); old != nil {
				*old -= headWait
				still := over("AvaxHeadStale", old)
				h.stale = still == bad && (late || busy)
				switch {
				case h.stale:
					h.made.Level = bad
				case still == bad && usual:
					h.made.Level = note
					h.made.Title += "; it stands still, as it may where nobody uses it"
				}
			}
			sound[l[1]]++
			moving[l[1]] = moving[l[1]] || !h.stale
		}
		heads[l] = h
	}
	for l, h := range heads {
		h.halted = h.stale && !moving[l[1]] && sound[l[1]] > 1
		heads[l] = h
	}
	return heads
}
