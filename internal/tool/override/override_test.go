package override_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/tool/override"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

type echoInput struct {
	Text string `json:"text"`
}

func TestAllowOverride(t *testing.T) {
	ran := ""
	plain, err := tool.New(tool.Spec{Name: "Echo"}, func(_ context.Context, call *tool.Call, in echoInput) (tool.Result, error) {
		ran = string(call.Input)
		return tool.Text(in.Text), nil
	}, func(_ *tool.Call, in echoInput) ([]policy.Request, error) {
		return []policy.Request{{Operation: policy.OpWrite, Resource: "/" + in.Text}, {Operation: policy.OpRead, Resource: "/" + in.Text}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	echo, err := override.AllowOverride(plain)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := override.AllowOverride(echo); err == nil {
		t.Error("a field of that name was there already")
	}
	if s := string(echo.Spec().Input); !strings.Contains(s, `"override"`) || strings.Contains(string(plain.Spec().Input), `"override"`) {
		t.Errorf("the schema is %s", s)
	}
	for _, c := range []struct {
		input string
		want  bool
		wrong string
	}{
		{`{"text":"a"}`, false, ""},
		{`{"text":"a","override":false}`, false, ""},
		{`{"text":"a","override":true}`, true, ""},
		{`{"text":"a","override":null}`, false, ""},
		{`{"text":"a","override":"true"}`, false, "override: want true or false"},
		{`{"text":"a","text":"b","override":true}`, false, "text"},
		{`{"text":"a","override":true,"override":false}`, false, "override"},
		{`{"text":1,"override":true}`, false, "text"},
		{`[]`, false, "want a JSON object"},
	} {
		ran = ""
		call := &tool.Call{Tool: "Echo", Input: json.RawMessage(c.input)}
		list, err := echo.Requests(call)
		res, broke := echo.Run(t.Context(), call)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) || !res.IsError || ran != "" {
				t.Errorf("%s: %v, %+v, ran %q", c.input, err, res, ran)
			}
			continue
		}
		if err != nil || broke != nil || len(list) != 2 || res.IsError || strings.Contains(ran, "override") {
			t.Fatalf("%s: %v %v %+v, ran %q", c.input, err, broke, res, ran)
		}
		for _, r := range list {
			if r.Override != c.want || string(r.Input) != c.input {
				t.Errorf("%s: %+v", c.input, r)
			}
		}
	}
}
