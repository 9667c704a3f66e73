package schedule_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

func TestMain(m *testing.M) {
	testworld.SyntheticTime()
	goleak.VerifyTestMain(m)
}
