package status

import (
	"slices"
	"strings"
)

// Observer is an endpoint that is not one of your nodes.
type Observer struct {
	*Node
	ObserverUp, OtherNetwork Value
	Methods                  int      // that were called
	Missing                  []string // methods that it does not offer
	known                    bool
}

var observerFields = []field[Observer]{
	{read("avax_observer_up", "node"), func(o *Observer) *Value { return &o.ObserverUp }},
	{read("avax_observer_network_mismatch", "node"), func(o *Observer) *Value { return &o.OtherNetwork }},
}

var (
	observerInfo    = read("avax_observer_info", "node")
	observerOffered = read("avax_observer_method_offered", "node", "method")
)

func (st *Status) readObservers() {
	all := map[string]*Observer{}
	observer := func(l []string) *Observer {
		return entry(all, l[0], func() *Observer {
			o := &Observer{Node: st.node(l[0])}
			absent(observerFields, o)
			return o
		})
	}
	st.samples.each(observerInfo, func(s sample) { observer(s.labels).known = true })
	fill(st.samples, observerFields, observer)
	st.samples.each(observerOffered, func(s sample) {
		o := observer(s.labels)
		o.Methods++
		if s.V == 0 {
			o.Missing = append(o.Missing, s.labels[1])
		}
	})
	for _, o := range sorted(all, strings.Compare) {
		slices.SortFunc(o.Missing, CompareChains)
		if o.known {
			st.Observers = append(st.Observers, o)
		}
	}
}
