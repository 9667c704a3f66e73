package app

import (
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestUnevenScheduleCostsItsBusiestDay(t *testing.T) {
	monday := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for expression, want := range map[string]struct {
		shortest time.Duration
		inADay   int
	}{
		"@every 5s":        {5 * time.Second, 17280},
		"@every 7m":        {7 * time.Minute, 206},
		"@hourly":          {time.Hour, 24},
		"* * * * *":        {time.Minute, 1440},
		"*/5 * * * *":      {5 * time.Minute, 288},
		"0,1 8 * * *":      {time.Minute, 2},
		"*/10 8-9 * * MON": {10 * time.Minute, 12},
		"0 0 1 1 *":        {day, 1},
	} {
		when := must.Get(schedule.Parse(expression))(t)
		if shortest, inADay := busiest(when(metric.Target{}), monday); shortest != want.shortest || inADay != want.inADay {
			t.Errorf("%s: %v, %d per day, want %v, %d", expression, shortest, inADay, want.shortest, want.inADay)
		}
	}
	if shortest, inADay := busiest(schedule.Every(10*time.Minute, metric.Target{}), monday); shortest != 10*time.Minute || inADay != 144 {
		t.Errorf("every ten minutes: %v, %d per day", shortest, inADay)
	}
}
