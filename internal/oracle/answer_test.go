package oracle

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	collmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/internal/otelwire"
)

// collector is a collector that accepts everything and answers with these bytes.
type collector []byte

func (a collector) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-protobuf"}},
		Body: io.NopCloser(bytes.NewReader(a)),
	}, nil
}

// A collector's answer is decoded as by OpenTelemetry's own code.
func FuzzAnswer(f *testing.F) {
	for _, m := range []proto.Message{
		&collmetrics.ExportMetricsServiceResponse{},
		&collmetrics.ExportMetricsServiceResponse{PartialSuccess: &collmetrics.ExportMetricsPartialSuccess{RejectedDataPoints: -1, ErrorMessage: "no"}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(b, b...))
	}
	f.Add([]byte{0x0a, 200})                                               // a length past the end
	f.Add([]byte{0x4d, 1, 2, 3, 4, 0x49, 1, 2, 3, 4, 5, 6, 7, 8, 0x09, 1}) // fixed32, fixed64, one cut off
	f.Fuzz(func(t *testing.T, b []byte) {
		p := otelwire.NewPoster(&otelwire.Target{URL: "http://c", Client: &http.Client{Transport: collector(b)}}, "points")
		err := p.Post(t.Context(), nil)
		got := fmt.Sprint(err)
		var m collmetrics.ExportMetricsServiceResponse
		if proto.Unmarshal(b, &m) != nil || strings.HasPrefix(got, "cannot read its answer") {
			return // they decode groups, too, and require UTF-8
		}
		n, message := m.GetPartialSuccess().GetRejectedDataPoints(), m.GetPartialSuccess().GetErrorMessage()
		want := fmt.Sprintf("it rejected %d points: %s", n, message)
		switch {
		case n == 0 && message == "":
			want = "<nil>"
		case n == 0:
			want = "it accepted all and warned: " + message
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
