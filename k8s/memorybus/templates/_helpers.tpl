{{- /* Names, labels, and the few decisions that several templates share. */ -}}

{{- define "memorybus.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "memorybus.selector" -}}
{{- /* (list root component) */ -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "memorybus.labels" -}}
{{- /* (list root component) */ -}}
{{- $root := index . 0 -}}
{{ include "memorybus.selector" . }}
app.kubernetes.io/version: {{ $root.Values.image.tag | default $root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: memorybus
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "memorybus.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "memorybus.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "memorybus.image" -}}
{{- /* (list root component) */ -}}
{{- $image := (index . 0).Values.image -}}
{{- $repository := ternary (printf "%s-%s" $image.repository (index . 1)) $image.repository $image.perService -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository ($image.tag | default (index . 0).Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "memorybus.overlay" -}}
{{- /* Maps from left to right, the last one wins, as JSON. `merge` would take `false` and 0 for absent. */ -}}
{{- $out := dict -}}
{{- range . -}}
{{- range $key, $value := . | default dict -}}
{{- $_ := set $out $key $value -}}
{{- end -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{- define "memorybus.value" -}}
{{- /* A value as an environment variable. YAML numbers arrive as floats: 4294967296 must not become 4.29e+09. */ -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) -}}
{{- int64 . -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{- define "memorybus.uses" -}}
{{- /* Which servers a component talks to: it gets no secret for any other, and no way through the network policy. */ -}}
{{- if has . (list "gateway" "provision") -}}
nats
{{- else if has . (list "ingest" "dedupe" "enrich") -}}
nats opensearch
{{- else -}}
nats opensearch qdrant embedder
{{- end -}}
{{- end -}}

{{- define "memorybus.jwks" -}}
{{- /* (list root name): the way to where an identity provider publishes its keys, of the gateway that reads them there. */ -}}
{{- $gateway := (index . 0).Values.services.gateway -}}
{{- $name := "MEMORYBUS_GATEWAY_JWT_JWKS" -}}
{{- $published := contains "://" (get ($gateway.settings | default dict) $name | default "" | toString) -}}
{{- if and (eq (index . 1) "gateway") (or $published (hasKey ($gateway.secrets | default dict) $name)) -}}
{{- if not (index . 0).Values.networkPolicy.jwks.to -}}
{{- fail (printf "networkPolicy.jwks.to is empty: name the peers where %s is read, or no JWT is let in" $name) -}}
{{- end -}}
jwks
{{- end -}}
{{- end -}}

{{- define "memorybus.model" -}}
{{- /* (list root name): the way to the model that the gateway stands in front of, or that reads turns for enrich and sums up for curate. */ -}}
{{- $gateway := (index . 0).Values.services.gateway -}}
{{- $given := merge (dict) ($gateway.settings | default dict) ($gateway.secrets | default dict) -}}
{{- $values := (index . 0).Values -}}
{{- $own := get $values.services (index . 1) | default dict -}}
{{- $known := merge (dict) ($own.settings | default dict) ($own.secrets | default dict) $values.settings $values.secrets -}}
{{- $answers := and (eq (index . 1) "gateway") (or (get $given "MEMORYBUS_OPENAI_BASE_URL") (get $given "MEMORYBUS_ANTHROPIC_BASE_URL")) -}}
{{- $draws := and (has (index . 1) (list "enrich" "curate")) (get $known "MEMORYBUS_EXTRACT_URL") -}}
{{- if or $answers $draws -}}
{{- if not (index . 0).Values.networkPolicy.model.to -}}
{{- fail "networkPolicy.model.to is empty: name the peers where MEMORYBUS_OPENAI_BASE_URL, MEMORYBUS_ANTHROPIC_BASE_URL or MEMORYBUS_EXTRACT_URL leads, or no chat is answered and no fact drawn" -}}
{{- end -}}
model
{{- end -}}
{{- end -}}

{{- define "memorybus.ways" -}}
{{- /* (list root name): the servers that a component reaches, one word each. */ -}}
{{- $ways := printf "%s %s %s" (include "memorybus.uses" (index . 1)) (include "memorybus.jwks" .) (include "memorybus.model" .) -}}
{{- if ne (index . 1) "provision" }}{{ $ways = printf "%s collector" $ways }}{{ end -}}
{{- $ways | trim | splitList " " | compact | join " " -}}
{{- end -}}

{{- define "memorybus.foreign" -}}
{{- /* (list component setting): whether a setting is about a server that this component does not talk to, the audit of
requests where it answers none, or the gateway where it is another one. */ -}}
{{- $server := index (splitList "_" (index . 1)) 1 | lower -}}
{{- $uses := splitList " " (include "memorybus.uses" (index . 0)) -}}
{{- if and (has $server (list "nats" "opensearch" "qdrant" "embedder")) (not (has $server $uses)) -}}
true
{{- else if and (eq (index . 1) "MEMORYBUS_EXTRACT_API_KEY") (not (has (index . 0) (list "enrich" "curate"))) -}}
true
{{- else if and (eq $server "audit") (not (has (index . 0) (list "retrieve" "curate"))) -}}
true
{{- else if and (has $server (list "gateway" "openai" "anthropic" "proxy")) (ne (index . 0) "gateway") -}}
true
{{- end -}}
{{- end -}}

{{- define "memorybus.references" -}}
{{- /* (list component shared own): the references to secrets that this component may have, as JSON. */ -}}
{{- $component := index . 0 -}}
{{- $out := dict -}}
{{- range $setting, $reference := fromJson (include "memorybus.overlay" (list (index . 1) (index . 2))) -}}
{{- if and $reference $reference.existingSecret (not (include "memorybus.foreign" (list $component $setting))) -}}
{{- $_ := set $out $setting $reference -}}
{{- end -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{- define "memorybus.stream" -}}
{{- /* The stream that a service reads; empty: it only answers requests. */ -}}
{{- get (dict "ingest" "MEMORY_TURNS" "dedupe" "MEMORY_EVENTS" "enrich" "MEMORY_EVENTS" "embed" "MEMORY_EVENTS") . -}}
{{- end -}}

{{- define "memorybus.consumers" -}}
{{- /* (list root name): the consumers that a service reads, as JSON; ingest has one for each part of the turns. */ -}}
{{- $name := index . 1 -}}
{{- $partitions := int ((index . 0).Values.settings.MEMORYBUS_TURNS_PARTITIONS | default 1) -}}
{{- $out := list -}}
{{- if or (ne $name "ingest") (eq $partitions 1) -}}
{{- $out = list $name -}}
{{- else -}}
{{- range $part := until $partitions -}}
{{- $out = append $out (printf "%s-%d" $name $part) -}}
{{- end -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{- define "memorybus.scaler" -}}
{{- /* (list root name): what scales a service, as JSON: its kind (keda, hpa or fixed), options and fewest pods. */ -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $service := get $root.Values.services $name -}}
{{- $keda := fromJson (include "memorybus.overlay" (list $root.Values.keda $service.keda)) -}}
{{- $hpa := fromJson (include "memorybus.overlay" (list $root.Values.autoscaling $service.autoscaling)) -}}
{{- $kind := "fixed" -}}
{{- $options := dict "minReplicas" $service.replicas -}}
{{- if and $keda.enabled (include "memorybus.stream" $name) -}}
{{- $kind = "keda" -}}
{{- $options = $keda -}}
{{- else if $hpa.enabled -}}
{{- $kind = "hpa" -}}
{{- $options = $hpa -}}
{{- end -}}
{{- if and (ne $kind "fixed") (lt (int $options.maxReplicas) (int $options.minReplicas)) -}}
{{- fail (printf "services.%s: maxReplicas %v is less than minReplicas %v" $name $options.maxReplicas $options.minReplicas) -}}
{{- end -}}
{{- toJson (dict "kind" $kind "options" $options "least" $options.minReplicas) -}}
{{- end -}}

{{- define "memorybus.replicas" -}}
{{- /* (list root name): how many pods a Deployment is to have, as JSON: the number, empty where the chart says none, and
the mark by which the next upgrade knows what this one said. A Deployment that runs keeps its number, which kubectl or a
scaler may have set since: to say another would be a conflict, to say none any more would leave one pod. */ -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $given := get (get $root.Values.services $name) "replicas" -}}
{{- $wanted := kindIs "invalid" $given | ternary "" (toString $given) -}}
{{- $scaler := fromJson (include "memorybus.scaler" (list $root $name)) -}}
{{- $live := lookup "apps/v1" "Deployment" $root.Release.Namespace (printf "%s-%s" (include "memorybus.fullname" $root) $name) | default dict -}}
{{- $runs := toString (dig "spec" "replicas" "" $live) -}}
{{- $before := dig "metadata" "annotations" "memorybus/replicas" "" $live -}}
{{- $number := $runs -}}
{{- $mark := "kept" -}}
{{- if or (not $wanted) (and (ne $scaler.kind "fixed") (or (not $live) (eq $before "left"))) -}}
{{- $number = "" -}}
{{- $mark = "left" -}}
{{- else if eq $scaler.kind "fixed" -}}
{{- $mark = $wanted -}}
{{- if or (not $live) (and (regexMatch "^[0-9]+$" $before) (ne $before $wanted)) -}}
{{- $number = $wanted -}}
{{- end -}}
{{- end -}}
{{- toJson (dict "number" $number "mark" $mark) -}}
{{- end -}}

{{- define "memorybus.streamsAccount" -}}
{{- /* (list root name account): the account of the streams as KEDA must name it; empty, it follows from the bus user. */ -}}
{{- $values := (index . 0).Values -}}
{{- $service := get $values.services (index . 1) -}}
{{- $files := fromJson (include "memorybus.references" (list (index . 1) $values.files $service.files)) -}}
{{- if and (hasKey $files "MEMORYBUS_NATS_CREDS") (has (index . 2) (list "" "$G")) -}}
{{- fail (printf "keda.account: MEMORYBUS_NATS_CREDS of %s leads into an account of its own, never into $G: name the one that the streams are in" (index . 1)) -}}
{{- end -}}
{{- $isUser := or (get ($service.settings | default dict) "MEMORYBUS_NATS_USER") (hasKey ($service.secrets | default dict) "MEMORYBUS_NATS_USER") -}}
{{- index . 2 | default (ternary "MEMORY" "$G" (not (not $isUser))) -}}
{{- end -}}

{{- define "memorybus.check" -}}
{{- /* Refuses what the schema cannot see: (list component settings secrets). */ -}}
{{- $settings := index . 1 -}}
{{- $secrets := index . 2 -}}
{{- if not (or $settings.MEMORYBUS_NATS_URL (hasKey $secrets "MEMORYBUS_NATS_URL")) -}}
{{- fail "settings.MEMORYBUS_NATS_URL is empty: name the bus, for instance nats://nats:4222; without it every pod would start one of its own" -}}
{{- end -}}
{{- if regexMatch "^(127\\.|localhost$|::1$)" (toString $settings.MEMORYBUS_HTTP_HOST) -}}
{{- fail (printf "MEMORYBUS_HTTP_HOST of %s is %v: no probe and nobody else would reach the pod; 0.0.0.0, or \"::\" for IPv6 only" (index . 0) $settings.MEMORYBUS_HTTP_HOST) -}}
{{- end -}}
{{- $auth := "MEMORYBUS_GATEWAY_AUTH" -}}
{{- if and (eq (index . 0) "gateway") (not (hasKey $secrets $auth)) (ne (toString (get $settings $auth)) "true") -}}
{{- fail "services.gateway.settings.MEMORYBUS_GATEWAY_AUTH must be true: others than the pod reach the gateway, and could act for any user; it would refuse to start" -}}
{{- end -}}
{{- range $server := splitList " " (include "memorybus.uses" (index . 0)) -}}
{{- $user := printf "MEMORYBUS_%s_USER" (upper $server) -}}
{{- $password := printf "MEMORYBUS_%s_PASSWORD" (upper $server) -}}
{{- if and (or (get $settings $user) (hasKey $secrets $user)) (not (hasKey $secrets $password)) -}}
{{- fail (printf "%s of %s has no password: name a secret in secrets.%s" $user (index $ 0) $password) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "memorybus.own" -}}
{{- /* What the metrics of this release have in common, as PodMonitor labels them. */ -}}
namespace={{ .Release.Namespace | quote }}, release={{ .Release.Name | quote }}
{{- end -}}

{{- define "memorybus.scoped" -}}
{{- /* (list root rules): rules that look at the metrics of this release alone, and say whose they are, as JSON. */ -}}
{{- $root := index . 0 -}}
{{- $own := printf "{%s}" (include "memorybus.own" $root) -}}
{{- $whose := dict "namespace" $root.Release.Namespace "release" $root.Release.Name -}}
{{- $out := list -}}
{{- range index . 1 -}}
{{- $expr := regexReplaceAll "\\bmemorybus_[a-z_]+" .expr (printf "${0}%s" $own) | replace "}{" ", " -}}
{{- $labels := fromJson (include "memorybus.overlay" (list .labels $whose)) -}}
{{- $out = append $out (merge (dict "expr" $expr "labels" $labels) .) -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{/* Names by which browsers and programs ask for the gateway; anything else that leads there is refused. */}}
{{- define "memorybus.httpHosts" -}}
{{- $service := printf "%s-gateway" (include "memorybus.fullname" .) -}}
{{- $inside := printf "%s.%s" $service .Release.Namespace -}}
{{- $names := list $service $inside (printf "%s.svc" $inside) (printf "%s.svc.cluster.local" $inside) -}}
{{- if .Values.ingress.enabled -}}
{{- range .Values.ingress.hosts -}}
{{- $names = append $names .host -}}
{{- end -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}
