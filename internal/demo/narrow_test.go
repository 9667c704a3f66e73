package demo

import "testing"

// What the log says about an incident fits into a line of 100 columns, behind the time and the message.
func TestIncidentsFitIntoALine(t *testing.T) {
	for _, i := range Incidents {
		for _, text := range []string{i.What, i.Look, i.ended} {
			if len(text) > 75 {
				t.Errorf("%d columns: %s", len(text), text)
			}
		}
	}
}
