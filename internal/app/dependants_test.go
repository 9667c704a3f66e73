package app

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// An alert about missing data names the alerts that need this data.
func TestEachCollectorNamesTheAlertsThatNeedItsData(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	ExportDependants(registry)
	text := must.Get(testutil.CollectAndFormat(registry, expfmt.TypeTextPlain, "avax_exporter_collector_info"))(t)
	for _, series := range []string{
		`{alerts="AvaxL1ProposersLow",collector="l1_proposers"} 1`,
		`{alerts="AvaxBaseFeeHigh, AvaxFeeConfigChanged, AvaxFeeConfigDrift",collector="fee_config"} 1`,
		`{alerts="AvaxDataServiceStale, AvaxExecutionLag, AvaxHeadLag, AvaxHeadStale, AvaxNodeContradicted",collector="heads"} 1`,
	} {
		if !strings.Contains(string(text), series) {
			t.Errorf("no series avax_exporter_collector_info%s in\n%s", series, text)
		}
	}
	if strings.Contains(string(text), `collector="supply"`) {
		t.Error("no alert needs the collector supply, and it has a series")
	}
}
