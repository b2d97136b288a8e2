package hostpipe

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/runspec"
)

// An empty list of tools means no tools, unlike a missing list.
func TestSpecTools(t *testing.T) {
	for _, tools := range [][]string{nil, {}, {"Read", "Write"}} {
		b, err := json.Marshal(Spec{Version: SpecVersion, Session: "one", Run: runspec.Spec{Cwd: "/work", Tools: tools}, Models: []model.Info{{Model: "m"}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadSpec(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if (got.Run.Tools == nil) != (tools == nil) || !slices.Equal(got.Run.Tools, tools) {
			t.Errorf("%#v became %#v", tools, got.Run.Tools)
		}
	}
}
