package tool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/tool"
)

func named(t testing.TB, names ...string) []tool.Tool {
	t.Helper()
	var list []tool.Tool
	for _, n := range names {
		made, err := tool.New(tool.Spec{Name: n}, echo, nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, made)
	}
	return list
}

func names(r *tool.Registry) string {
	var list []string
	for _, s := range r.Specs() {
		list = append(list, s.Name)
	}
	return strings.Join(list, " ")
}

func TestRegistry(t *testing.T) {
	r, err := tool.NewRegistry(named(t, "Read", "Bash", "Edit")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		r    *tool.Registry
		want string
	}{
		{"all, in order", r, "Read Bash Edit"},
		{"only keeps the order", r.Select("Edit", "Read", "Nothing"), "Read Edit"},
		{"without", r.Exclude("Bash", "Nothing"), "Read Edit"},
		{"exact case", r.Select("read", "BASH"), ""},
		{"both", r.Select("Read", "Bash").Exclude("Bash"), "Read"},
		{"none", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := names(tt.r); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			for _, n := range []string{"Read", "Bash", "Edit", "read", ""} {
				_, found := tt.r.Lookup(n)
				if want := slices.Contains(strings.Fields(tt.want), n); found != want {
					t.Errorf("Lookup(%q) = %v, want %v", n, found, want)
				}
			}
		})
	}
	if names(r) != "Read Bash Edit" {
		t.Error("a filter changed the registry it was made from")
	}
}

func TestRegistryRejectsDuplicates(t *testing.T) {
	if _, err := tool.NewRegistry(named(t, "Read", "Read")...); err == nil {
		t.Error("two tools of one name were taken")
	}
}

func ExampleNewRegistry() {
	greet, _ := tool.New(tool.Spec{Name: "Greet"}, echo, nil)
	shout, _ := tool.New(tool.Spec{Name: "Shout"}, echo, nil)
	r, err := tool.NewRegistry(greet, shout)
	if err != nil {
		fmt.Println(err)
		return
	}
	r = r.Exclude("Shout")
	_, found := r.Lookup("Shout")
	fmt.Println(len(r.Specs()), found)
	// Output: 1 false
}
