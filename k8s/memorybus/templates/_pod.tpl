{{- /* The pod of a worker, and of the provisioning job: same image, same user, same folders, same references. */ -}}

{{- define "memorybus.env" -}}
{{- /* dict root name own: secrets by reference, and the paths of mounted files. */ -}}
{{- $shared := .root.Values -}}
{{- range $setting, $reference := fromJson (include "memorybus.references" (list .name $shared.secrets .own.secrets)) }}
- name: {{ $setting }}
  valueFrom:
    secretKeyRef:
      name: {{ $reference.existingSecret }}
      key: {{ $reference.key }}
{{- end }}
{{- range $setting, $_ := fromJson (include "memorybus.references" (list .name $shared.files .own.files)) }}
- name: {{ $setting }}
  value: {{ include "memorybus.filePath" $setting }}
{{- end }}
{{- with .root.Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "memorybus.filePath" -}}
/etc/memorybus/{{ trimPrefix "MEMORYBUS_" . | lower }}
{{- end -}}

{{- define "memorybus.volumes" -}}
{{- /* dict root name own settings */ -}}
{{- $storage := .root.Values.storage -}}
{{- $files := fromJson (include "memorybus.references" (list .name .root.Values.files .own.files)) -}}
- name: tmp
  emptyDir:
    sizeLimit: {{ $storage.tmpSizeLimit }}
- name: data
  emptyDir:
    sizeLimit: {{ $storage.dataSizeLimit }}
{{- if not $storage.cacheFromImage }}
- name: cache
  emptyDir:
    sizeLimit: {{ $storage.cacheSizeLimit }}
{{- end }}
{{- if $files }}
- name: files
  projected:
    defaultMode: 0440
    sources:
      {{- range $setting, $reference := $files }}
      - secret:
          name: {{ $reference.existingSecret }}
          items:
            - key: {{ $reference.key }}
              path: {{ include "memorybus.filePath" $setting | base }}
      {{- end }}
{{- end }}
{{- end -}}

{{- define "memorybus.volumeMounts" -}}
{{- /* dict root name own settings */ -}}
- name: tmp
  mountPath: /tmp
- name: data
  mountPath: {{ .settings.MEMORYBUS_DATA }}
{{- if not .root.Values.storage.cacheFromImage }}
- name: cache
  mountPath: {{ .settings.MEMORYBUS_CACHE }}
{{- end }}
{{- if fromJson (include "memorybus.references" (list .name .root.Values.files .own.files)) }}
- name: files
  mountPath: /etc/memorybus
  readOnly: true
{{- end }}
{{- end -}}

{{- define "memorybus.containerBase" -}}
{{- /* dict root name own settings: what both kinds of container share. */ -}}
image: {{ include "memorybus.image" (list .root .name) }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- toYaml .root.Values.containerSecurityContext | nindent 2 }}
resources:
  {{- toYaml .own.resources | nindent 2 }}
volumeMounts:
  {{- include "memorybus.volumeMounts" . | nindent 2 }}
{{- end -}}

{{- define "memorybus.podBase" -}}
{{- /* dict root name own settings: what both kinds of pod share. */ -}}
{{- $values := .root.Values -}}
automountServiceAccountToken: false
# Variables that Kubernetes makes of a Service named memorybus-nats would be taken for our settings.
enableServiceLinks: false
securityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
{{- with $values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .own.nodeSelector | default $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.tolerations | default $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.affinity | default $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  {{- include "memorybus.volumes" . | nindent 2 }}
{{- end -}}
