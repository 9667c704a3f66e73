package notify

import "time"

// Silence suppresses the notifications of matching alerts until it ends.
type Silence struct {
	ID, By, Comment string
	Matches         string // matchers in amtool's syntax
	Starts, Ends    time.Time
}

// Match is a label that an alert must have.
type Match struct{ Label, Value string }

// NodeMatches returns the labels that identify the alerts about a node, including alerts about its validators on the primary
// network and L1s. Such an alert has one of these labels. Name is the configured name, id the node ID, which may be empty.
func NodeMatches(name, id string) []Match {
	matches := []Match{{"node", name}}
	if id != "" {
		matches = append(matches, Match{"node_id", id})
	}
	return matches
}
