package logpipe

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
)

// Who is to have no tools gets none: an empty list is not the same as no list.
func TestSpecTools(t *testing.T) {
	for _, tools := range [][]string{nil, {}, {"Read", "Write"}} {
		b, err := json.Marshal(Spec{Version: SpecVersion, Session: "one", Cwd: "/work", Models: []model.Info{{Model: "m"}}, Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadSpec(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if (got.Tools == nil) != (tools == nil) || !slices.Equal(got.Tools, tools) {
			t.Errorf("%#v became %#v", tools, got.Tools)
		}
	}
}
