package cli

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/docgen"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// docs/reference/records.md lists every kind of record with the fields of its payload.
func TestRecordsPage(t *testing.T) {
	b, err := os.ReadFile(docgen.Path(t, "docs/reference/records.md"))
	if err != nil {
		t.Fatal(err)
	}
	payloads := map[string]reflect.Type{
		record.KindOpened: reflect.TypeFor[session.Opened](), record.KindRewrite: reflect.TypeFor[session.Rewrite](), record.KindMetaChanged: reflect.TypeFor[session.MetaPatch](),
		record.KindTurnOpened: reflect.TypeFor[record.TurnOpened](), record.KindTurnClosed: reflect.TypeFor[record.TurnClosed](),
		record.KindToolStarted: reflect.TypeFor[record.ToolStarted](), record.KindToolFinished: reflect.TypeFor[record.ToolFinished](),
		record.KindApprovalAsked: reflect.TypeFor[approval.Request](), record.KindApprovalResolved: reflect.TypeFor[approval.Answer](),
		record.KindDecision: reflect.TypeFor[policy.Decision](), record.KindPolicyChanged: reflect.TypeFor[record.PolicyChanged](), record.KindHookRan: reflect.TypeFor[record.HookRan](),
		record.KindFileSaved: reflect.TypeFor[record.FileSaved](), record.KindModelCalled: reflect.TypeFor[record.ModelCalled](), record.KindRedacted: reflect.TypeFor[record.Redacted](),
	}
	for _, kind := range record.Kinds() {
		row := regexp.MustCompile("(?m)^\\| `" + kind + "` \\|.*$").FindString(string(b))
		if row == "" {
			t.Errorf("docs/reference/records.md does not have %s", kind)
			continue
		}
		payload, ok := payloads[kind]
		if !ok {
			continue
		}
		for _, f := range reflect.VisibleFields(payload) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(row, "`"+name+"`") {
				t.Errorf("docs/reference/records.md: %s lacks %s", kind, name)
			}
		}
	}
}
