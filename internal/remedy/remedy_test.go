package remedy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
)

// A refusal says which settings are those of the service that refused.
func TestRefusalNamesTheSettingsOfItsService(t *testing.T) {
	for op, c := range map[string][2]string{
		data.ListRewards.Op(): {"AVAX_DATA_API_KEY_FILE", "AVAX_METRICS_URL"},
		metrics.AvgTPS.Op():   {"AVAX_METRICS_URL", "AVAX_DATA_API_KEY_FILE"},
		"GET /v2/validation/{l1ValidationId}/metrics/validationFeesDaily": {"AVAX_METRICS_URL", "AVAX_DATA_API_KEY_FILE"},
		"info.getNodeID": {"AVAX_NODES", "AVAX_DATA_API_KEY_FILE"},
	} {
		do := remedy.Of(&scrape.Error{Op: op, Outcome: scrape.Forbidden, Err: errors.New("HTTP 401")}).Do
		if !strings.Contains(do, c[0]) || strings.Contains(do, c[1]) {
			t.Errorf("%s: %s", op, do)
		}
	}
}
