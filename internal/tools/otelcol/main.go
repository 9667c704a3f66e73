// Command otelcol is an OpenTelemetry Collector of two components: it scrapes, and writes to a Prometheus. Tests start it.
package main

import (
	"log"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/prometheusremotewriteexporter"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/prometheusreceiver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func factories() (otelcol.Factories, error) {
	scrape, write := prometheusreceiver.NewFactory(), prometheusremotewriteexporter.NewFactory()
	return otelcol.Factories{
		Telemetry: otelconftelemetry.NewFactory(),
		Receivers: map[component.Type]receiver.Factory{scrape.Type(): scrape},
		Exporters: map[component.Type]exporter.Factory{write.Type(): write},
	}, nil
}

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Version: "0.165"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			DefaultScheme:     "file",
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		}},
	}
	var ready string
	os.Args = slices.DeleteFunc(os.Args, func(arg string) bool {
		address, is := strings.CutPrefix(arg, "--ready=")
		if is {
			ready = address
		}
		return is
	})
	go func() { // answers whatever is asked, so that a test knows that it runs
		log.Fatal(http.ListenAndServe(ready, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))) //nolint:gosec // of a test
	}()
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
