package notify

import "time"

// Silence keeps the alerts that it matches from being notified until it ends.
type Silence struct {
	ID, By, Comment string
	Matches         string // its matchers, as amtool writes them
	Starts, Ends    time.Time
}

// Match is a label that an alert has to have.
type Match struct{ Label, Value string }

// NodeMatches are what the alerts about a node have, its validators and its part in L1s
// included: one of these. An alert names a node by its configured name or by its node
// ID, which may be empty.
func NodeMatches(name, id string) []Match {
	matches := []Match{{"node", name}}
	if id != "" {
		matches = append(matches, Match{"node_id", id})
	}
	return matches
}
