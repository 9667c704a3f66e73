module github.com/avax-exporter/avax-exporter/internal/tools/openapi

go 1.26.0

require (
	github.com/avax-exporter/avax-exporter v0.0.0
	github.com/getkin/kin-openapi v0.152.0
)

require (
	github.com/go-openapi/jsonpointer v1.0.0 // indirect
	github.com/gorilla/mux v1.8.0 // indirect
	github.com/kr/pretty v0.3.1 // indirect
	github.com/oasdiff/yaml v0.1.1 // indirect
	github.com/oasdiff/yaml3 v0.0.14 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/avax-exporter/avax-exporter => ../../..
