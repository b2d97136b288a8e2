{{- /* One entry for each heading: address, page, heading, text, weight. A script, not JSON: file:// may not fetch. */ -}}
{{- $all := slice -}}
{{- range site.Pages -}}
  {{- if and (ne .Kind "home") .File (not (in site.Params.unsearched .Path)) -}}
    {{- $page := partial "title.html" . -}}
    {{- $url := strings.TrimPrefix "/" .RelPermalink -}}
    {{- $weight := 1.0 -}}
    {{- range $prefix, $w := site.Params.weights -}}
      {{- if hasPrefix $url $prefix }}{{ $weight = $w }}{{ end -}}
    {{- end -}}
    {{- range $i, $part := split (replaceRE `(<h[1-6] id=)` "\x00$1" .Content) "\x00" -}}
      {{- $id := index (findRESubmatch `^<h[1-6] id="?([^" >]*)` . 1) 0 -}}
      {{- $id = cond (eq $id nil) "" (index $id 1) -}}
      {{- $head := replaceRE ` <a class="anchor".*` "" (index (split . "</h") 0) | plainify | htmlUnescape -}}
      {{- $text := replaceRE `(?s)^<h[1-6].*?</h[1-6]>` "" . | plainify | htmlUnescape -}}
      {{- $text = strings.TrimSpace (replaceRE `\s+` " " $text) -}}
      {{- if $id -}}{{- $all = $all | append (dict "u" (printf "%s#%s" $url $id) "p" $page "h" (strings.TrimSpace $head) "t" $text "w" $weight) -}}{{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
window.pages = {{ $all | jsonify }};
