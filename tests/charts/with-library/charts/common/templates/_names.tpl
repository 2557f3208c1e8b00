{{- define "common.fullname" -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- define "common.render" -}}
{{- if typeIs "string" .value }}{{ tpl .value .context }}{{ else }}{{ tpl (.value | toYaml) .context }}{{ end }}
{{- end }}
