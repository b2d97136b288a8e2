package otelwire

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

type page struct{ bytes.Buffer }

// Page returns the metrics in Prometheus' text format 0.0.4. Names follow OpenTelemetry's
// translation: dots become underscores, and the suffixes for the unit (seconds) and "total" are
// appended. It changes data: it sorts the data points.
func Page(data *metricdata.ResourceMetrics) []byte {
	var p page
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			p.metric(&m)
		}
	}
	p.head("target_info", "gauge", "Target metadata")
	p.sample("target_info", labels(*data.Resource.Set()), 1)
	return p.Bytes()
}

func (p *page) metric(m *metricdata.Metrics) {
	name := plain(m.Name)
	if m.Unit == "s" {
		name += "_seconds"
	}
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		numbers(p, name, m.Description, d.IsMonotonic, d.DataPoints)
	case metricdata.Sum[float64]:
		numbers(p, name, m.Description, d.IsMonotonic, d.DataPoints)
	case metricdata.Histogram[int64]:
		histograms(p, name, m.Description, d.DataPoints)
	case metricdata.Histogram[float64]:
		histograms(p, name, m.Description, d.DataPoints)
	}
}

func numbers[N int64 | float64](p *page, name, help string, isSum bool, points []metricdata.DataPoint[N]) {
	kind := "gauge"
	if isSum {
		kind, name = "counter", name+"_total"
	}
	p.head(name, kind, help)
	slices.SortFunc(points, func(a, b metricdata.DataPoint[N]) int {
		return slices.Compare(labels(a.Attributes), labels(b.Attributes))
	})
	for _, d := range points {
		p.sample(name, labels(d.Attributes), float64(d.Value))
	}
}

func histograms[N int64 | float64](p *page, name, help string, points []metricdata.HistogramDataPoint[N]) {
	p.head(name, "histogram", help)
	slices.SortFunc(points, func(a, b metricdata.HistogramDataPoint[N]) int {
		return slices.Compare(labels(a.Attributes), labels(b.Attributes))
	})
	for _, d := range points {
		attributes := labels(d.Attributes)
		var below uint64
		for i, n := range d.BucketCounts {
			below += n
			bound := math.Inf(1)
			if i < len(d.Bounds) {
				bound = d.Bounds[i]
			}
			p.sample(name+"_bucket", append(slices.Clip(attributes), `le="`+number(bound)+`"`), float64(below))
		}
		p.sample(name+"_sum", attributes, float64(d.Sum))
		p.sample(name+"_count", attributes, float64(d.Count))
	}
}

func (p *page) head(name, kind, help string) {
	p.WriteString("# HELP " + name + " " + strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help) + "\n")
	p.WriteString("# TYPE " + name + " " + kind + "\n")
}

func (p *page) sample(name string, labels []string, v float64) {
	p.WriteString(name)
	if len(labels) > 0 {
		p.WriteString("{" + strings.Join(labels, ",") + "}")
	}
	p.WriteString(" " + number(v) + "\n")
}

func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

var quoted = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// labels returns attributes as name="value". Attributes with the same plain name become one label
// with all values, because Prometheus allows a name only once.
func labels(set attribute.Set) []string {
	var names []string
	values := map[string]string{}
	for _, a := range set.ToSlice() {
		name, value := plain(string(a.Key)), strings.ToValidUTF8(a.Value.String(), "\uFFFD")
		if previous, found := values[name]; found {
			values[name] = previous + ";" + value
			continue
		}
		names, values[name] = append(names, name), value
	}
	list := make([]string, 0, len(names))
	for _, name := range names {
		list = append(list, name+`="`+quoted.Replace(values[name])+`"`)
	}
	return list
}

// plain returns a name that Prometheus accepts.
func plain(name string) string {
	s := []byte(name)
	for i, c := range s {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' {
			s[i] = '_'
		}
	}
	if len(s) > 0 && s[0] >= '0' && s[0] <= '9' {
		return "_" + string(s)
	}
	return string(s)
}
