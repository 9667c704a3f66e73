package testworld

import (
	"os"
	"testing"
)

// Story marks a test that plays hours or days of a network in synthetic time, and lets it run beside others. `make stories` and
// `make test-full` run these tests, `make test` does not.
func Story(t *testing.T) {
	t.Helper()
	if testing.Short() && os.Getenv("TEST_STORIES") == "" {
		t.Skip("make stories runs it")
	}
	t.Parallel()
}
