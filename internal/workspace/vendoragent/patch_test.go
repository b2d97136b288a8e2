package vendoragent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A change of several files is one request per file, and a command is checked in its working folder.
func TestRequestsOfOtherVendors(t *testing.T) {
	p := PathMap{Work: "/work", Home: "/home/agent", All: []PathMapping{{Host: "/src/project", Inside: "/work"}}}
	for _, c := range []struct{ tool, input, want string }{
		{"Bash", `{"command":"touch x","cwd":"/work/sub"}`, "command.execute touch x in /src/project/sub"},
		{"Bash", `{"command":"touch x"}`, "command.execute touch x in /src/project"},
		{"Bash", `{"command":"touch x","cwd":"/etc"}`, "command.execute touch x in /etc"},
		{"Bash", `{"command":"touch x","cwd":"sub"}`, "cwd: want an absolute path"},
		{"Bash", `{"command":"touch x","cwd":7}`, "cwd: want a string"},
		{
			"apply_patch", `{"changes":[{"path":"/work/a","kind":"update","diff":"x"},{"path":"/etc/b","kind":"add","diff":"y"},{"path":"c","kind":"delete","move_to":"/work/d"}]}`,
			"fs.write /src/project/a; fs.write /etc/b; fs.write /src/project/c; fs.write /src/project/d",
		},
		{"apply_patch", `{"changes":[]}`, "changes: want a list of changes"},
		{"apply_patch", `{"Changes":[{"path":"/work/a"}]}`, "changes: want a list of changes"},
		{"apply_patch", `{"changes":[{"Path":"/work/a"}]}`, "changes[0]: path must not be empty"},
		{"apply_patch", `{"changes":[{"path":"/work/a","move_to":""}]}`, "changes[0]: move_to must not be empty"},
		{"apply_patch", `{"changes":[{"path":"/work/a","kind":1}]}`, "changes[0]: kind: want a string"},
	} {
		reqs, err := p.requests(c.tool, json.RawMessage(c.input))
		var got []string
		for _, r := range reqs {
			w := fmt.Sprintf("%s %s", r.Operation, r.Resource)
			if r.Cwd != "" {
				w += " in " + r.Cwd
			}
			got = append(got, w)
		}
		if err != nil {
			got = append(got, err.Error())
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s %s\nwants %q\nwant  %q", c.tool, c.input, got, c.want)
		}
	}
}
