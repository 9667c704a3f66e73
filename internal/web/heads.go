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

// heads are the samples by which a node is judged on a chain. A chain may stand
// still because nobody uses it: something has to show that it should move. The
// C-Chain of a public network always should.
type heads struct {
	*page
	*nodeFacts
	heights, made, processing values            // by node and chain
	public                    map[string]bool   // nodes of a public network
	furthest                  map[string]labels // node and chain, by chain
}

// headViews judges how far the nodes are, by node and chain, as AvaxHeadStale,
// AvaxHeadLag and AvaxChainHalted do.
func (p *page) headViews(f *nodeFacts) map[labels]headView {
	h := heads{
		page: p, nodeFacts: f,
		heights:    p.by("avax_chain_height", "node", "chain"),
		made:       p.by("avax_chain_head_timestamp_seconds", "node", "chain"),
		processing: p.by("avax_chain_processing_blocks", "node", "chain"),
		public:     map[string]bool{}, furthest: map[string]labels{},
	}
	p.each("avax_node_info", []string{"node", "network_id"}, func(l labels, _ float64) { h.public[l[0]] = l[1] == "1" || l[1] == "5" })
	for l, height := range h.heights {
		if best, has := h.furthest[l[1]]; h.judged(l) && (!has || height > h.heights[best]) {
			h.furthest[l[1]] = l
		}
	}
	views := make(map[labels]headView, len(h.heights))
	judged, moving := map[string]int{}, map[string]bool{} // by chain
	for l := range h.heights {
		v := h.view(l)
		views[l] = v
		if h.judged(l) {
			judged[l[1]]++
			moving[l[1]] = moving[l[1]] || !v.stale
		}
	}
	for l, v := range views {
		v.halted = v.stale && !moving[l[1]] && judged[l[1]] > 1
		views[l] = v
	}
	return views
}

// judged leaves out what is down, elsewhere, or not at the head for a reason that
// is told.
func (h *heads) judged(l labels) bool {
	node, chain := l[0], l[1]
	return !h.up.is(0, node) && !h.foreign.is(1, node) && !h.isolated(node) && !h.forked.is(1, node, chain) && !h.bootstrapped.is(0, node, chain)
}

// age is that of the newest block, in seconds; nil where it is not known.
func (h *heads) age(l labels) *float64 {
	left := h.left(h.made.of(l[0], l[1]))
	if left == nil {
		return nil
	}
	age := -*left
	return &age
}

func (h *heads) view(l labels) headView {
	height := h.heights[l]
	v := headView{height: cell{Text: count(height), Title: "height of the newest block"}}
	if at := h.made.of(l[0], l[1]); at != nil {
		v.made = moment(h.Now, at, "")
		v.made.Title = "when the newest block was made: " + v.made.Title
	}
	if !h.judged(l) {
		return v
	}
	best := h.furthest[l[1]]
	v.behind = h.heights[best] - height
	v.lag = over("AvaxHeadLag", &v.behind)
	old, young, waiting := h.age(l), h.age(best), h.processing.of(l[0], l[1])
	if old == nil {
		return v
	}
	*old -= headWait
	if over("AvaxHeadStale", old) < bad {
		return v
	}
	late := v.lag > well || v.behind > 0 && young != nil && *young > headYoung
	v.stale = late || l[1] == "C" && h.public[l[0]] || waiting != nil && *waiting > 0
	switch {
	case v.stale:
		v.made.Level = bad
	case l[1] == "C" || l[1] == "P":
		v.made.Level = note
		v.made.Title += "; it stands still, as it may where nobody uses it"
	}
	return v
}
