{{- define "overdue.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "overdue.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "overdue.labels" -}}
{{ include "overdue.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The workloads as JSON, by name, with what follows from their roles. */}}
{{- define "overdue.workloads" -}}
{{- $root := . -}}
{{- $given := .Values.workloads | default (dict "all" (dict "roles" (list "all") "ingressPaths" (list "/"))) -}}
{{- $found := dict -}}
{{- range $name, $one := $given -}}
{{- if $one -}}
{{- $roles := $one.roles -}}
{{- $isAll := has "all" $roles -}}
{{- $receives := or $isAll (has "ping" $roles) (has "smtp" $roles) -}}
{{- $onlyReceives := and $receives (not $isAll) (eq (len (without $roles "ping" "smtp")) 0) -}}
{{- $listens := or $isAll (has "ping" $roles) (has "api" $roles) (has "web" $roles) -}}
{{- $mail := and $root.Values.pingMail.enabled (or $isAll (has "smtp" $roles)) -}}
{{- $autoscaling := $one.autoscaling | default dict -}}
{{- $full := include "overdue.fullname" $root -}}
{{- $_ := set $found $name (dict
  "name" (ternary $full (printf "%s-%s" $full $name) (eq $name "all"))
  "roles" (join "," $roles)
  "replicas" (ternary $root.Values.replicas $one.replicas (kindIs "invalid" $one.replicas))
  "resources" ($one.resources | default $root.Values.resources)
  "ingressPaths" ($one.ingressPaths | default list)
  "autoscaling" $autoscaling
  "kind" (ternary "StatefulSet" "Deployment" (and $receives $root.Values.spool.enabled))
  "receives" $receives "onlyReceives" $onlyReceives "listens" $listens "mail" $mail
) -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* Not empty if there is a log. */}}
{{- define "overdue.hasLog" -}}
{{- if or .Values.log.url .Values.log.existingSecret -}}true{{- end -}}
{{- end -}}

{{/* With a log, something must record what is in it. */}}
{{- define "overdue.checkLog" -}}
{{- if include "overdue.hasLog" . -}}
{{- $records := dict -}}
{{- range $name, $one := include "overdue.workloads" . | fromJson -}}
{{- $isRecorder := or (eq $one.roles "all") (has "recorder" (splitList "," $one.roles)) -}}
{{- if and $isRecorder (not (and $.Values.log.leaving $one.receives)) -}}{{- $_ := set $records $name true -}}{{- end -}}
{{- end -}}
{{- if not $records -}}
{{- fail "With a log, add a workload with the role recorder: without one, pings are accepted but never recorded." -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "overdue.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}{{ $image.repository }}@{{ $image.digest }}
{{- else -}}{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}{{- end -}}
{{- end -}}

{{/* The environment of every pod, the migration included. */}}
{{- define "overdue.env" -}}
{{- if not (or .Values.existingSecret .Values.database.existingSecret) -}}
{{- fail "Set existingSecret or database.existingSecret to a Secret with the URL of the database." -}}
{{- end -}}
- name: OVERDUE_SITE_URL
  value: {{ required "Set siteUrl to the public URL, for example https://overdue.example.org." .Values.siteUrl | quote }}
{{- if .Values.database.existingSecret }}
- name: OVERDUE_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.database.existingSecret }}
      key: {{ .Values.database.key }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end -}}

{{/* The log, for pods that use it. */}}
{{- define "overdue.logEnv" -}}
{{- if .Values.log.existingSecret }}
- name: OVERDUE_LOG
  valueFrom:
    secretKeyRef:
      name: {{ .Values.log.existingSecret }}
      key: {{ .Values.log.key }}
{{- else if .Values.log.url }}
- name: OVERDUE_LOG
  value: {{ .Values.log.url | quote }}
{{- end }}
{{- if .Values.log.routerRepeats }}
- name: OVERDUE_LOG_ROUTER_REPEATS
  value: "true"
{{- end }}
{{- end -}}

{{- define "overdue.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "overdue.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "overdue.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end -}}
