{{- define "name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "fullname" -}}
{{- $name := include "name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "selector" -}}
app.kubernetes.io/name: {{ include "name" . | toYaml }}
app.kubernetes.io/instance: {{ .Release.Name | toYaml }}
{{- end -}}

{{- define "labels" -}}
{{ include "selector" . }}
app.kubernetes.io/version: {{ include "version" . | quote }}
{{- end -}}

{{- /* Pods of a StatefulSet have an index, which is their shard, and volumes of their own. */ -}}
{{- define "stateful" -}}
{{- if or (gt (int .Values.shards) 1) .Values.state.enabled }}yes{{ end -}}
{{- end -}}

{{- /* The tag without a digest, which is no value of a label. */ -}}
{{- define "version" -}}
{{ .Values.image.tag | default .Chart.AppVersion | splitList "@" | first | replace "+" "_" | trunc 63 | trimAll "-_." }}
{{- end -}}

{{- define "image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{- /* A value as the exporter reads it: YAML reads a large whole number as 8.8888888e+07. */ -}}
{{- define "value" -}}
{{ if and (kindIs "float64" .) (eq (floor .) .) }}{{ printf "%.0f" . }}{{ else }}{{ toString . }}{{ end }}
{{- end -}}

{{- /* Who evaluates the rules: prometheus with prometheusRule, unless a variable is set that only the exporter's own evaluation uses; both if one is. */ -}}
{{- define "engine" -}}
{{- $set := keys (.Values.config | default dict) }}
{{- range .Values.extraEnv }}{{ $set = append $set .name }}{{ end }}
{{- range $secret, $variables := .Values.secrets }}{{ $set = concat $set (keys $variables) }}{{ end }}
{{- $own := false }}
{{- range list "AVAX_ALERTING" "AVAX_NOTIFY_FILE" "AVAX_ALERTMANAGERS" "AVAX_RULES_FILE" "AVAX_DIGEST" }}{{ if has . $set }}{{ $own = true }}{{ end }}{{ end }}
{{- if not .Values.prometheusRule.enabled }}exporter{{ else if not $own }}prometheus
{{- else if and (hasKey .Values.config "AVAX_ALERTING") (has (include "value" (get .Values.config "AVAX_ALERTING")) (list "off" "false" "no" "0")) }}prometheus
{{- else }}both{{ end }}
{{- end -}}
