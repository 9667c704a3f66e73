package testworld

import "testing"

// Story marks a test that plays hours or days of a network in synthetic time, and lets it run beside others. `make stories` runs these tests,
// `make test` does not.
func Story(t *testing.T) {
	t.Helper()
	t.Parallel()
}
