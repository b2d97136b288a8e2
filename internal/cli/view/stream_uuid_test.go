package view

import "testing"

func TestItemUUID(t *testing.T) {
	for _, tt := range []struct{ id, want string }{
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV", "01563e3a-b5d3-d676-4c61-efb99302bd5b"},
		{"", ""},
	} {
		got := itemUUID(tt.id)
		if len(got) != 36 || tt.id != "" && got != tt.want {
			t.Errorf("itemUUID(%q) = %s, want %s", tt.id, got, tt.want)
		}
		if got != itemUUID(tt.id) {
			t.Errorf("itemUUID(%q) is not stable", tt.id)
		}
	}
}
