package testworld

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Invented adds new names to the n-th answer of a node: 1,900 failing health checks, 100 upgrades, and a version of its own. request is the body of the
// request; empty: it asks for the health. Other answers are not changed.
func Invented(request, answer []byte, n int64) []byte {
	var call struct{ Method string }
	_ = json.Unmarshal(request, &call)
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	var all map[string]any
	if d.Decode(&all) != nil {
		return answer
	}
	result, _ := all["result"].(map[string]any)
	checks, _ := all["checks"].(map[string]any)
	switch {
	case len(checks) > 0:
		var real map[string]any
		for _, c := range checks {
			real = c.(map[string]any)
			break
		}
		for i := range 1900 {
			failing := map[string]any{"error": "invented", "contiguousFailures": 9, "timeOfFirstFailure": "2000-01-01T00:00:00Z"}
			for k, field := range real {
				if failing[k] == nil {
					failing[k] = field
				}
			}
			checks[fmt.Sprintf("check-%d-%d", n, i)] = failing
		}
	case result != nil && call.Method == "info.upgrades":
		for i := range 100 {
			result[fmt.Sprintf("invented%d%dTime", n, i)] = "2025-01-01T00:00:00Z"
		}
	case result != nil && call.Method == "info.getNodeVersion":
		result["version"] = fmt.Sprintf("avalanchego/1.14.%d", n)
	default:
		return answer
	}
	text, err := json.Marshal(all)
	if err != nil {
		return answer
	}
	return text
}
