package simnet

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
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
		{"GET", "/v2/health-check", free, (*request).health},
		{"GET", "/v2/chains", free, (*request).metricsChains},
		{"GET", "/v2/chains/{chainId}", free, (*request).metricsChain},
		{"GET", "/v2/chains/{chainId}/metrics/{metric}", series, (*request).chainMetric},
		{"GET", "/v2/chains/{chainId}/rollingWindowMetrics/{metric}", series, (*request).rollingMetric},
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
	key := "pageToken"
	if r.service.net.opts.StartKeyPaging {
		key = "startKey"
	}
	r.resume(key)
	body := struct {
		Results       []tpsPoint `json:"results"`
		Status        int        `json:"status"`
		LastRun       int64      `json:"lastRun"`
		NextPageToken string     `json:"nextPageToken,omitempty"`
		NextStartKey  string     `json:"nextPageStartKey,omitempty"`
	}{Status: http.StatusOK, LastRun: r.tpsUpdated(r.now).Unix()}
	next := &body.NextPageToken
	if key == "startKey" {
		next = &body.NextStartKey
	}
	body.Results, *next = cut(r, r.tpsDays(r.series()), 100)
	return body, nil
}

// chainMetrics are the names of all metrics of a chain in version 2. Only those that follow from the transactions per second
// are simulated; the others have no data.
var chainMetrics = []string{
	"activeAddresses", "activeSenders", "cumulativeTxCount", "cumulativeAddresses", "cumulativeContracts", "cumulativeDeployers",
	"contracts", "deployers", "gasUsed", "txCount", "avgGps", "maxGps", "avgTps", "maxTps", "avgGasPrice", "maxGasPrice", "feesPaid",
}

// throughput is the value of each metric at one transaction per second.
var throughput = map[string]float64{"avgTps": 1, "maxTps": 4, "avgGps": transfer, "maxGps": 4 * transfer}

func (r *request) chainMetric() (any, error) {
	metric := r.oneOf("metric", r.values["metric"], chainMetrics...)
	intervals := []string{"day"}
	if slices.Contains([]string{"activeAddresses", "activeSenders", "gasUsed", "txCount"}, metric) {
		intervals = []string{"hour", "day", "week", "month"}
	}
	r.option("timeInterval", intervals...)
	start, end := r.between()
	size := r.paging(100, 2160)
	series, factor := r.series(), throughput[metric]
	if factor == 0 {
		series = ""
	}
	var body struct {
		Results []tpsPoint `json:"results"`
		Next    string     `json:"nextPageToken,omitempty"`
	}
	list := r.tpsDays(series)
	list = slices.DeleteFunc(list, func(p tpsPoint) bool { return p.Timestamp < start || p.Timestamp > end })
	body.Results, body.Next = cut(r, list, size)
	for i := range body.Results {
		body.Results[i].Value *= factor
	}
	return body, nil
}

// between returns the limits of a time range, in Unix seconds.
func (r *request) between() (start, end int64) {
	return int64(r.integer("startTimestamp", 0, 0, math.MaxInt)), int64(r.integer("endTimestamp", math.MaxInt, 0, math.MaxInt))
}

// rollingMetric returns an empty result for a chain without data.
func (r *request) rollingMetric() (any, error) {
	metric := r.oneOf("metric", r.values["metric"], slices.DeleteFunc(slices.Clone(chainMetrics), func(m string) bool {
		return strings.HasPrefix(m, "cumulative")
	})...)
	var body struct {
		Result struct {
			LastHour   *float64 `json:"lastHour,omitempty"`
			LastDay    *float64 `json:"lastDay,omitempty"`
			LastWeek   *float64 `json:"lastWeek,omitempty"`
			LastMonth  *float64 `json:"lastMonth,omitempty"`
			Last90Days *float64 `json:"last90Days,omitempty"`
			LastYear   *float64 `json:"lastYear,omitempty"`
			AllTime    *float64 `json:"allTime,omitempty"`
		} `json:"result"`
	}
	series, factor := r.series(), throughput[metric]
	if series == "" || factor == 0 {
		return body, nil
	}
	today := r.tpsUpdated(r.now).Truncate(day)
	window := func(days int) *float64 {
		sum, most := 0.0, 0.0
		for i := range days {
			v := r.dayTPS(series, today.Add(-time.Duration(i)*day))
			sum, most = sum+v, max(most, v)
		}
		if !strings.HasPrefix(metric, "max") {
			most = sum / float64(days)
		}
		return new(math.Round(100*factor*most) / 100)
	}
	result := &body.Result
	result.LastHour, result.LastDay, result.LastWeek, result.LastMonth = window(1), window(1), window(7), window(30)
	result.Last90Days, result.LastYear, result.AllTime = window(90), window(365), window(365)
	return body, nil
}

type metricsChain struct {
	EVMChainID   uint64 `json:"evmChainId"`
	ChainName    string `json:"chainName"`
	BlockchainID string `json:"blockchainId"`
	SubnetID     string `json:"subnetId"`
	Network      string `json:"network"`
}

func (r *request) metricsChainList() (list []metricsChain) {
	for _, c := range r.chains {
		if c.evmID != 0 {
			name := strings.ReplaceAll(strings.ToLower(c.name), "-", "_")
			list = append(list, metricsChain{c.evmID, name, c.id, c.subnet.id, mainnet})
		}
	}
	return list
}

func (r *request) metricsChains() (any, error) {
	r.resume("pageToken")
	list := []metricsChain{}
	if r.ours() {
		list = r.metricsChainList()
	}
	var body struct {
		Chains []metricsChain `json:"chains"`
		Next   string         `json:"nextPageToken"`
	}
	body.Chains, body.Next = cut(r, list, 10_000)
	return body, nil
}

func (r *request) metricsChain() (any, error) {
	for _, c := range r.metricsChainList() {
		if u64(c.EVMChainID) == r.values["chainId"] {
			return c, nil
		}
	}
	return nil, missing("Chain %s not found", r.values["chainId"])
}
