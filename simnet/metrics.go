package simnet

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// The Metrics service in its two versions. A newer service offers only the second, see RetireMetricsV1.

const (
	tpsHistory = 365              // days
	tpsPeriod  = 10 * time.Minute // between two updates
)

func newMetrics(net *Network) *Service {
	const series = 100 // compute units; another scale than that of the Data service
	s := newService(net, "metrics", []route{
		{"GET", "/v1/avg_tps/{chainId}", series, (*request).avgTPS},
		{"GET", "/v2/chains/{chainId}/metrics/{metric}", series, (*request).chainMetric},
		{"GET", "/v2/validation/{l1ValidationId}/metrics/{metric}", series, (*request).validationMetric},
	})
	s.listed = true
	return s
}

// tpsTruth is the throughput of the EVM chains, day by day.
type tpsTruth struct {
	mean    map[string]float64 // by series
	retired bool               // version 1 is removed
}

func (t *tpsTruth) build(truth *truth) {
	t.mean = make(map[string]float64)
	for _, c := range truth.chains {
		if c.evmID != 0 {
			t.mean[u64(c.evmID)] = []float64{2.1, 0.8, 0.3}[len(t.mean)%3]
		}
	}
	t.mean["total"] = 3.2
}

// dayTPS returns the average of a day with two decimals.
func (t *truth) dayTPS(series string, day time.Time) float64 {
	v := t.tps.mean[series] * (0.6 + 0.8*t.chance("tps", series, day.Unix()))
	return math.Round(100*v) / 100
}

// tpsUpdated returns the time of the service's last update.
func (t *truth) tpsUpdated(now time.Time) time.Time {
	return now.Truncate(tpsPeriod)
}

type tpsPoint struct {
	Timestamp int64   `json:"timestamp"`
	Value     float64 `json:"value"`
}

// series returns the series in the path; empty for a chain without data. Only Mainnet is simulated, so it is the total.
func (r *request) series() string {
	name := r.values["chainId"]
	if name == "mainnet" {
		name = "total"
	}
	if _, ok := r.tps.mean[name]; ok {
		return name
	}
	if _, err := strconv.ParseUint(name, 10, 64); err != nil && name != "testnet" {
		r.reject("chainId must be an EVM chain id or one of: total, mainnet, testnet")
	}
	return ""
}

// tpsDays returns the days of a series, newest first. The newest has only the data so far.
func (r *request) tpsDays(series string) []tpsPoint {
	list := []tpsPoint{}
	if series == "" {
		return list
	}
	updated := r.tpsUpdated(r.asOf)
	newest := updated.Truncate(day)
	for i := range tpsHistory {
		at := newest.Add(-time.Duration(i) * day)
		value := r.dayTPS(series, at)
		if i == 0 {
			value = math.Round(100*value*updated.Sub(newest).Hours()/24) / 100
		}
		list = append(list, tpsPoint{at.Unix(), value})
	}
	return list
}

// avgTPS is the only simulated metric of version 1.
func (r *request) avgTPS() (any, error) {
	if r.tps.retired {
		return nil, errNoRoute
	}
	r.resume()
	body := struct {
		Results       []tpsPoint `json:"results"`
		Status        int        `json:"status"`
		LastRun       int64      `json:"lastRun"`
		NextPageToken string     `json:"nextPageToken,omitempty"`
	}{Status: http.StatusOK, LastRun: r.tpsUpdated(r.now).Unix()}
	body.Results, body.NextPageToken = cut(r, r.tpsDays(r.series()), 100)
	return body, nil
}

// chainMetrics are the names of all metrics of a chain in version 2. Only avgTps has data.
var chainMetrics = []string{
	"activeAddresses", "activeSenders", "cumulativeTxCount", "cumulativeAddresses", "cumulativeContracts", "cumulativeDeployers",
	"contracts", "deployers", "gasUsed", "txCount", "avgGps", "maxGps", "avgTps", "maxTps", "avgGasPrice", "maxGasPrice", "feesPaid",
}

func (r *request) chainMetric() (any, error) {
	metric := r.oneOf("metric", r.values["metric"], chainMetrics...)
	intervals := []string{"day"}
	if slices.Contains([]string{"activeAddresses", "activeSenders", "gasUsed", "txCount"}, metric) {
		intervals = []string{"hour", "day", "week", "month"}
	}
	r.option("timeInterval", intervals...)
	start, end := r.between()
	size := r.paging(100, 2160)
	series := r.series()
	if metric != "avgTps" {
		series = ""
	}
	var body struct {
		Results []tpsPoint `json:"results"`
		Next    string     `json:"nextPageToken,omitempty"`
	}
	list := r.tpsDays(series)
	list = slices.DeleteFunc(list, func(p tpsPoint) bool { return p.Timestamp < start || p.Timestamp > end })
	body.Results, body.Next = cut(r, list, size)
	return body, nil
}

// validationMetric lists the fees of an L1 validator by day, newest first. The newest day has only the fees so far. Of an unknown validator it lists
// nothing.
func (r *request) validationMetric() (any, error) {
	r.oneOf("metric", r.values["metric"], "validationCumulativeFeesDaily", "validationFeesDaily")
	start, end := r.between()
	r.resume()
	var body struct {
		Results []tpsPoint `json:"results"`
		Next    string     `json:"nextPageToken,omitempty"`
	}
	list, updated := []tpsPoint{}, r.tpsUpdated(r.asOf)
	for _, s := range r.subnets {
		for _, v := range slices.Concat(s.l1, s.removed) {
			if v.validationID != r.values["l1ValidationId"] || r.values["metric"] != "validationFeesDaily" {
				continue
			}
			for at := updated.Truncate(day); at.After(v.start.Add(-day)); at = at.Add(-day) {
				until := at.Add(day)
				if until.After(updated) {
					until = updated
				}
				if at.Unix() >= start && at.Unix() <= end {
					list = append(list, tpsPoint{at.Unix(), float64(v.feesBetween(at, until, r.feePrice))})
				}
			}
		}
	}
	body.Results, body.Next = cut(r, list, 100)
	return body, nil
}

// between returns the limits of a time range, in Unix seconds.
func (r *request) between() (start, end int64) {
	return int64(r.integer("startTimestamp", 0, 0, math.MaxInt)), int64(r.integer("endTimestamp", math.MaxInt, 0, math.MaxInt))
}
