package main

import (
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
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/avax-exporter/avax-exporter/docs"
	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

const mcpArgs = "[--from URL]"

const mcpHelp = `
A client of the Model Context Protocol starts this command, and calls its tools
over standard input and output. Each tool reads one answer of a running
exporter: alerts, their history and explanations, safe-to-stop, top-up plans,
queries and runbooks. No tool changes anything. An answer has 48 KiB at most.

Options:
  --from URL  address of the exporter
              (default: the exporter on this machine, at AVAX_LISTEN)

Examples:
  avax-exporter mcp
  avax-exporter mcp --from http://monitoring:9865
`

// maxToolAnswer is the maximum size of a tool's answer in bytes.
const maxToolAnswer = 48 << 10

// tool is a tool of the MCP server. Arguments that the path does not contain in braces are parameters of the query.
type tool struct {
	name, about, path string
	args              []toolArg
	set               func(url.Values) error // sets further parameters
	// shorten shortens an answer that is too long. rest is how the client gets what is left out; empty: it asks for less.
	shorten func(answer string) string
	rest    string
}

type toolArg struct {
	name, about string
	required    bool
}

var tools = []tool{
	{name: "alerts", about: "What is wrong now: every pending and firing alert with its labels, summary, impact and first action, the worst first. AvaxWatchdog " +
		"always fires.", path: "/api/v1/alerts", shorten: withoutDescriptions, rest: "query count by (alertname, severity, alertstate) (ALERTS)"},
	{name: "incidents", about: "What is wrong now, as the status page shows it, the worst first: each fault with its action, since when it lasts and when it " +
		"pages, also before an alert is active.", path: "/api/v1/incidents"},
	{name: "causes", about: "The error texts behind the alerts: failing health checks, chains that did not start, and other tables of the collectors.",
		path: "/api/v1/tables"},
	{name: "explain", about: "Why an alert fires or not: its values, thresholds, the part of its expression that is true, and the samples. Also explains a " +
		"metric family.", path: "/explain", args: []toolArg{
		{"name", "alert or metric family, such as AvaxNodeDown or avax_node_up", true}, {"target", "node, chain, ID or other label value", false},
	}},
	{name: "alert_history", about: "Which alerts fired in the last hours, in 60 steps. Each series has the times at which a step ended in which the alert " +
		"fired.", path: "/api/v1/query_range",
		args: []toolArg{
			{"name", "alert, such as AvaxNodeDown; every alert without it", false}, {"hours", "1 to 24, 6 without it", false},
		}, set: alertHistory},
	{name: "safe_to_stop", about: "Whether a node may be stopped now without harm to the quorum of its chains, and the reason.", path: "/safe-to-stop",
		args: []toolArg{
			{"node", "name or node ID of the node", true},
		}, set: onlyLook},
	{name: "safe_to_remove", about: "Whether an L1 validator may be removed and its node be stopped now, and what its removal or an empty balance does to the " +
		"quorum and to who can build the next block.", path: "/safe-to-remove", args: []toolArg{
		{"validation", "validation ID of the validator", true},
	}, set: onlyLook},
	{name: "top_up_plan", about: "Which validators of an L1 to top up, by how many AVAX, and when the L1 loses its quorum without top-ups.",
		path: "/api/v1/l1/{chain}/plan", args: []toolArg{
			{"chain", "name of the L1", true}, {"days", "days that the balances must last, 1 to 3650", false},
		}},
	{name: "query", about: "The value of a PromQL expression over the exporter's samples of the last day, such as avax_node_up or ALERTS.", path: "/api/v1/query",
		args: []toolArg{
			{"query", "PromQL expression", true}, {"time", "Unix time or RFC 3339; now without it", false},
		}},
	{name: "runbook", about: "The runbook of an alert: meaning, impact, diagnosis and mitigation.",
		args: []toolArg{{"name", "alert, such as AvaxNodeDown", true}}},
}

// onlyLook takes no yes from those who are about to stop a node.
func onlyLook(v url.Values) error {
	v.Set("hold", "false")
	return nil
}

// alertHistory replaces the parameters name and hours by a query of 60 steps. Each step is about the whole time since the one before.
func alertHistory(v url.Values) error {
	hours, err := strconv.ParseFloat(v.Get("hours"), 64)
	if v.Get("hours") == "" {
		hours, err = 6, nil
	}
	if err != nil || !(hours >= 1 && hours <= 24) {
		return errors.New("hours: write a number from 1 to 24")
	}
	query := `ALERTS{alertstate="firing", alertname!="AvaxWatchdog"}`
	if name := v.Get("name"); name != "" {
		query = fmt.Sprintf(`ALERTS{alertstate="firing", alertname=%q}`, name)
	}
	now, step := time.Now().Unix(), int64(hours*60)
	v.Del("name")
	v.Del("hours")
	v.Set("query", fmt.Sprintf("max_over_time(%s[%ds])", query, step))
	v.Set("start", strconv.FormatInt(now-59*step, 10))
	v.Set("end", strconv.FormatInt(now, 10))
	v.Set("step", strconv.FormatInt(step, 10))
	return nil
}

// withoutDescriptions returns the alerts without their descriptions.
func withoutDescriptions(text string) string {
	var answer struct {
		Status string `json:"status"`
		Data   struct {
			Alerts []map[string]any `json:"alerts"`
		} `json:"data"`
	}
	if json.Unmarshal([]byte(text), &answer) != nil {
		return text
	}
	for _, a := range answer.Data.Alerts {
		if texts, ok := a["annotations"].(map[string]any); ok {
			delete(texts, "description")
		}
	}
	short, err := json.Marshal(answer)
	if err != nil {
		return text
	}
	return string(short)
}

// runMCP serves the tools until the client closes standard input.
func runMCP(ctx context.Context, args []string, _, _ io.Writer) error {
	var from string
	if err := parseFlags(args, func(flags *flag.FlagSet) { flags.StringVar(&from, "from", "", "") }); err != nil {
		return usageError{err}
	}
	exporter, _, err := exporterOf(from)
	if err != nil {
		return err
	}
	err = mcpServer(exporter).Run(ctx, &mcp.IOTransport{Reader: input(ctx), Writer: os.Stdout})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// input returns the standard input until ctx ends. A read of the file itself would not end.
func input(ctx context.Context) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, os.Stdin)
		_ = w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	return r
}

// mcpServer returns a server with the tools.
func mcpServer(exporter exporter) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "avax-exporter", Version: app.Version()}, &mcp.ServerOptions{
		Instructions: "Monitoring of Avalanche nodes. Call alerts first, then explain and runbook for each alert. Missing data is never 0.",
	})
	for _, t := range tools {
		server.AddTool(&mcp.Tool{Name: t.name, Description: t.about, InputSchema: t.schema(), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := t.answer(ctx, exporter, r.Params.Arguments)
				if err != nil {
					text = err.Error()
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: words.Printable(text)}}, IsError: err != nil}, nil
			})
	}
	return server
}

// schema returns the JSON schema of the arguments.
func (t tool) schema() any {
	properties, required := map[string]any{}, []string{}
	for _, a := range t.args {
		properties[a.name] = map[string]any{"type": []string{"string", "number"}, "description": a.about}
		if a.required {
			required = append(required, a.name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// answer calls the tool with its arguments, a JSON object.
func (t tool) answer(ctx context.Context, e exporter, arguments json.RawMessage) (string, error) {
	given := map[string]any{}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return "", fmt.Errorf("%s: %w: send the arguments as an object", t.name, err)
		}
	}
	path, query := t.path, url.Values{}
	for _, a := range t.args {
		value, ok := given[a.name]
		delete(given, a.name)
		switch text := fmt.Sprint(value); {
		case !ok && a.required:
			return "", fmt.Errorf("%s: no %s: name the %s", t.name, a.name, a.about)
		case !ok:
		case strings.Contains(path, "{"+a.name+"}"):
			path = strings.ReplaceAll(path, "{"+a.name+"}", url.PathEscape(text))
		default:
			query.Set(a.name, text)
		}
	}
	for name := range given {
		return "", fmt.Errorf("%s: unknown argument %q: remove it", t.name, name)
	}
	if path == "" {
		text, err := docs.Runbooks.ReadFile("runbooks/" + query.Get("name") + ".md")
		if err != nil {
			return "", fmt.Errorf("%s: no runbook of this name: name an alert", t.name)
		}
		return string(text), nil
	}
	if t.set != nil {
		if err := t.set(query); err != nil {
			return "", fmt.Errorf("%s: %w", t.name, err)
		}
	}

	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	resp, text, err := e.request(ctx, path+"?"+query.Encode())
	if err != nil {
		return "", err
	}
	if len(text) > maxToolAnswer && t.shorten != nil {
		text = t.shorten(text)
	}
	if len(text) > maxToolAnswer {
		text = strings.ToValidUTF8(text[:maxToolAnswer], "") + "\n[the answer is longer than 48 KiB, the rest is left out: " + cmp.Or(t.rest, "ask for less") + "]"
	}
	switch resp.StatusCode {
	case http.StatusOK, http.StatusConflict: // the node must not be stopped
		return text, nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return "", refused(resp)
	}
	return "", fmt.Errorf("%s: %s: %s", t.name, resp.Status, text)
}
