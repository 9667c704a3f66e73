package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/internal/web"
)

const silenceArgs = "[--from URL] [--alertmanager URL] [--check] [--comment TEXT] NODE DURATION"

const silenceHelp = `
Creates silences for all alerts that have the node's name or node ID in a label.
The silences are created in an Alertmanager. If there is no Alertmanager, they
are created in the exporter. The exporter then needs AVAX_NOTIFY_FILE. From
another machine, the command needs a password of AVAX_WEB_CONFIG_FILE: write the
user and the password in --from: http://user:password@host:9865

Arguments:
  NODE                name of the node in the configuration
  DURATION            duration of the silence, such as 30m or 2h

Options:
  --from URL          address of the exporter (default: the exporter on this
                      machine, at AVAX_LISTEN)
  --alertmanager URL  address of the Alertmanager (default: the first of
                      AVAX_ALERTMANAGERS). Its credentials are in
                      AVAX_HTTP_CONFIG_FILE.
  --check             create the silences only if it is safe to stop the node
                      now
  --comment TEXT      reason for the silence (default: maintenance)

Examples:
  avax-exporter silence alpha 30m
  avax-exporter silence --check --comment "upgrade to 1.15.1" alpha 30m
`

// maintenance are the arguments of the command silence.
type maintenance struct {
	from, alertmanager, comment, node string
	check                             bool
	lasts                             time.Duration
}

func parseSilence(args []string) (m maintenance, err error) {
	words, err := parse(args, func(flags *flag.FlagSet) {
		flags.StringVar(&m.from, "from", "", "")
		flags.StringVar(&m.alertmanager, "alertmanager", "", "")
		flags.StringVar(&m.comment, "comment", "maintenance", "")
		flags.BoolVar(&m.check, "check", false, "")
	})
	if err != nil {
		return m, err
	}
	if len(words) != 2 {
		return m, errors.New("name a node and a duration, such as alpha 30m")
	}
	m.node = words[0]
	if m.lasts, err = time.ParseDuration(words[1]); err != nil || m.lasts <= 0 {
		return m, fmt.Errorf("%q: write a duration above zero with its unit, such as 30m", words[1])
	}
	return m, nil
}

// runSilence silences the alerts of a node.
func runSilence(ctx context.Context, args []string, stdout, _ io.Writer) error {
	m, err := parseSilence(args)
	if err != nil {
		return usageError{err}
	}
	exporter, cfg, err := exporterOf(m.from)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if m.check {
		if _, err := exporter.verdict(ctx, "/safe-to-stop?node="+url.QueryEscape(m.node)); err != nil {
			return fmt.Errorf("safe-to-stop %s: nothing was silenced: %w", m.node, err)
		}
	}
	id, err := nodeIDOf(ctx, exporter, m.node)
	if err != nil {
		return err
	}
	api, client := m.alertmanager, client
	if api == "" && cfg.Alerting.Notifies() {
		api = cfg.Alerting.Alertmanagers[0]
	}
	if api != "" {
		if cfg, err = configured(config.LoadOnly("HTTP_CONFIG_FILE")); err != nil {
			return err
		}
		if client, err = alerting.AlertmanagerClient(cfg.Alerting, nil); err != nil {
			return err
		}
	}
	token := exporter.token
	if api != "" {
		token = ""
	}
	api = strings.TrimSuffix(cmp.Or(api, exporter.address), "/")
	until := time.Now().Add(m.lasts)
	for _, match := range notify.NodeMatches(m.node, id) {
		silence, err := postSilence(ctx, client, api, token, match.Label, match.Value, m.comment, until)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "silenced %s=%q until %s (silence %s)\n", match.Label, match.Value, until.UTC().Format(time.RFC3339), silence)
	}
	return nil
}

// nodeIDOf returns the node ID of a configured node; empty if the exporter does not know it. /metrics has it while the node answers,
// for every client. Later a query finds it.
func nodeIDOf(ctx context.Context, e exporter, node string) (string, error) {
	page, err := e.answerOf(ctx, "/metrics")
	if err != nil {
		return "", err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page + "\n"))
	if err != nil {
		return "", fmt.Errorf("/metrics: %w: is it an avax-exporter?", err)
	}
	var nodes []string
	for _, m := range families["avax_node_up"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "node" {
				nodes = append(nodes, l.GetValue())
			}
		}
	}
	if len(nodes) > 0 && !slices.Contains(nodes, node) {
		remedy := "the nodes are " + strings.Join(nodes[:min(len(nodes), 10)], ", ")
		if near := spelling.Near(node, nodes); len(near) > 0 {
			remedy = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return "", inputError("silence: unknown node %q, nothing was silenced: %s", node, remedy)
	}
	for _, m := range families["avax_node_info"].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		if labels["node"] == node {
			return labels["node_id"], nil
		}
	}
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	resp, text, err := e.request(ctx, "/api/v1/query?query="+url.QueryEscape(fmt.Sprintf("last_over_time(avax_node_info{node=%q}[2h])", node)))
	switch {
	case err != nil:
		return "", err
	case resp.StatusCode == http.StatusNotFound: // an exporter without rules stores no samples
		return "", nil
	case resp.StatusCode != http.StatusOK:
		return "", refused(resp)
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return "", fmt.Errorf("%s: %w: is it an avax-exporter?", resp.Request.URL.Redacted(), err)
	}
	if len(answer.Data.Result) == 0 {
		return "", nil
	}
	return answer.Data.Result[0].Metric["node_id"], nil
}

// postSilence creates a silence and returns its ID.
func postSilence(ctx context.Context, client *http.Client, api, token, label, value, comment string, until time.Time) (string, error) {
	type matcher struct {
		Name    string `json:"name"`
		Value   string `json:"value"`
		IsRegex bool   `json:"isRegex"`
		IsEqual bool   `json:"isEqual"`
	}
	body, err := json.Marshal(map[string]any{
		"matchers": []matcher{{Name: label, Value: value, IsEqual: true}},
		"startsAt": time.Now().UTC(), "endsAt": until.UTC(), "createdBy": who(), "comment": comment,
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, api+"/api/v2/silences", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set(web.TokenHeader, token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return "", err
	}
	var made struct{ SilenceID string }
	if resp.StatusCode != http.StatusOK || json.Unmarshal(text, &made) != nil {
		return "", fmt.Errorf("silence not accepted: %s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	return made.SilenceID, nil
}

// who returns the name of the user who runs the command.
func who() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "avax-exporter")
}
