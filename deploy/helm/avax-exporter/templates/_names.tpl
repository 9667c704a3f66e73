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
app.kubernetes.io/name: {{ include "name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "labels" -}}
{{ include "selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
{{- end -}}

{{- /* Pods of a StatefulSet have an index, which is their shard, and volumes of their own. */ -}}
{{- define "stateful" -}}
{{- if or (gt (int .Values.shards) 1) .Values.state.enabled }}yes{{ end -}}
{{- end -}}

{{- /* Nine tenths of a limit in Mi or Gi; of any other, nothing. */ -}}
{{- define "heap" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString -}}
{{- if hasSuffix "Mi" $limit }}{{ div (mul 9 (trimSuffix "Mi" $limit | int64)) 10 }}MiB
{{- else if hasSuffix "Gi" $limit }}{{ div (mul 9 1024 (trimSuffix "Gi" $limit | int64)) 10 }}MiB
{{- end -}}
{{- end -}}
