package render

import (
	"strings"
	"testing"
)

// The parts add up to what the provider counted, whatever the estimates are.
func TestScaled(t *testing.T) {
	for _, tt := range []struct {
		tokens       []int
		counted, sum int
	}{
		{[]int{1, 1, 1}, 100, 100}, {[]int{10, 20}, 0, 30}, {[]int{0, 0}, 50, 0}, {nil, 10, 0}, {[]int{7, -3, 90}, 12345, 12345}, {[]int{1000, 3000}, 400, 400},
	} {
		var parts []Part
		for _, n := range tt.tokens {
			parts = append(parts, Part{Tokens: n})
		}
		list, sum := scaled(parts, tt.counted)
		all := 0
		for _, p := range list {
			all += p.Tokens
		}
		if sum != tt.sum || all != tt.sum {
			t.Errorf("%v to %d: %v, sum %d", tt.tokens, tt.counted, list, sum)
		}
	}
}

func TestContextWithoutWindow(t *testing.T) {
	r := &Renderer{Plain: true}
	text := strings.Join(r.Context([]Part{{"tools", 300}, {"messages", 100}}, 0, 0, 60), "\n")
	if !strings.Contains(text, "~400 tokens used; window size not known") || strings.Contains(text, "free") || !strings.Contains(text, "75.0%") {
		t.Error(text)
	}
	r = &Renderer{}
	if text = strings.Join(r.Context([]Part{{"tools", 300}}, 0, 0, 100), "\n"); strings.Contains(text, "a a a") {
		t.Errorf("the picture is full:\n%s", text)
	}
}
