package sandbox

import (
	"os"
	"testing"
)

// The user's store is covered if commands would see it and could not write to it.
func TestCacheMounts(t *testing.T) {
	const store, own = "home/.local/share/pnpm/store/", "caches/pnpm-store/"
	for name, tt := range map[string]struct {
		tree  []string
		layer Settings
		want  int
	}{
		"a store":         {[]string{store, own}, Settings{}, 1},
		"none":            {[]string{own}, Settings{}, 0},
		"no cache":        {[]string{store, "caches/"}, Settings{}, 0},
		"a link there":    {[]string{store, "caches/pnpm-store -> ../home"}, Settings{}, 0},
		"a link at home":  {[]string{"data/store/", "home/.local/share/pnpm -> ../../../data", own}, Settings{}, 0},
		"written":         {[]string{store, own}, Settings{AdditionalWritePaths: []string{"@/home/.local"}}, 0},
		"denied":          {[]string{store, own}, Settings{DeniedPaths: []string{"@/home/.local/share"}}, 0},
		"out of sight":    {[]string{store, own}, Settings{AllowedReadPaths: []string{"@/ws"}}, 0},
		"something in it": {[]string{store + "x", own}, Settings{DeniedPaths: []string{"@/" + store + "x"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cache, err := os.UserCacheDir()
			if err == nil {
				err = os.MkdirAll(cache, 0o700)
			}
			if err != nil {
				t.Skip(err)
			}
			root, err := os.MkdirTemp(cache, "holdfast-covers-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(root) })
			if inAny(privateFolders, root) {
				t.Skip("the cache folder of whoever runs this is temporary, and not seen inside")
			}
			plantIn(t, root, append(tt.tree, "ws/"))
			c, err := newCompiler(layersFor(t, root, []testLayer{{Settings: tt.layer}}), &OpenOptions{Folders: []string{root + "/ws"}, Home: root + "/home", Caches: root + "/caches"})
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.compile()
			if err != nil {
				t.Fatal(err)
			}
			if got := p.policy.CacheMounts; len(got) != tt.want {
				t.Errorf("%+v", got)
			}
		})
	}
}
