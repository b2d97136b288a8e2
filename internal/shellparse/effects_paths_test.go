package shellparse

import (
	"slices"
	"strings"
	"testing"
)

// touched writes the paths of a line as "r /w/a", with "/" behind a tree. What was
// only guessed is left out.
func touched(line string) []string {
	var out []string
	for _, c := range Parse(line, &Options{Dir: "/w", Home: "/home/u"}).Commands {
		for _, p := range c.Paths {
			if p.Source == FromGuess {
				continue
			}
			s := ""
			for i, b := range "rwx" {
				if p.Access&(1<<i) != 0 {
					s += string(b)
				}
			}
			s += " " + p.Path
			if p.Tree {
				s += "/"
			}
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestPaths(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"git status", ""},
		{"git -v --version -h", ""},
		{"echo /etc/passwd", ""},
		{"cat a ../b /c ~/d", "r /b, r /c, r /home/u/d, r /w/a"},
		{"cat -n a -- -b", "r /w/-b, r /w/a"},
		{"cat -", ""},
		{"head -n 5 a", "r /w/a"},
		{"head -5 a", "r /w/a"},
		{"tail -n +2 a", "r /w/a"},
		{"tail +2 a", "r /w/a"},
		{"grep x a b", "r /w/a, r /w/b"},
		{"grep -e x a", "r /w/a"},
		{"grep -f/etc/p a", "r /etc/p, r /w/a"},
		{"grep --file=/etc/p a", "r /etc/p, r /w/a"},
		{"grep --file /etc/p a", "r /etc/p, r /w/a"},
		{"grep -r x src", "r /w/src/"},
		{"grep -r --include=*.swift TODO /project/src", "r /project/src/"},
		{"rg x src", "r /w/src/"},
		{"ls --directory=/etc", "r /etc"},
		{"ls -R a", "r /w/a/"},
		{"cp a b", "r /w/a, w /w/b, w /w/b/a"},
		{"cp a.txt b.txt", "r /w/a.txt, w /w/b.txt"},
		{"cp -t /out a b", "r /w/a, r /w/b, w /out, w /out/a, w /out/b"},
		{"cp --target-directory=/out a", "r /w/a, w /out, w /out/a"},
		{"cp --target /out a", "r /w/a, w /out, w /out/a"},
		{"cp -rt/out a", "r /w/a/, w /out, w /out/a/"},
		{"cp x/.bashrc ~", "r /w/x/.bashrc, w /home/u, w /home/u/.bashrc"},
		{"mv a /out", "rw /w/a, rw /w/a/, w /out, w /out/, w /out/a/"},
		{"ln -s a /out", "r /w/a, w /out, w /out/a"},
		{"ln -s /etc/hosts", "r /etc/hosts, w /w/hosts"},
		{"install -d a b", "w /w/a, w /w/b"},
		{"rm -rf a b", "w /w/a/, w /w/b/"},
		{"rm -f a", "w /w/a"},
		{"mkdir -p -m 755 a/b", "w /w/a/b"},
		{"touch -r a b", "r /w/a, w /w/b"},
		{"chmod 644 a", "w /w/a"},
		{"chmod -x a", "w /w/a"},
		{"chmod -R u+w a", "w /w/a/"},
		{"chmod --reference=a b", "r /w/a, w /w/b"},
		{"chown -R a:b c", "w /w/c/"},
		{"dd if=/etc/a of=b bs=1", "r /etc/a, w /w/b"},
		{"truncate -s 0 a", "w /w/a"},
		{"tee -a a b", "w /w/a, w /w/b"},
		{"tee /dev/null", ""},
		{"sort a -o b", "r /w/a, w /w/b"},
		{"sort -ob a", "r /w/a, w /w/b"},
		{"sort --output=b a", "r /w/a, w /w/b"},
		{"uniq a b", "r /w/a, w /w/b"},
		{"sed s/a/b/ c", "r /w/c"},
		{"sed -i s/a/b/ c", "rw /w/c"},
		{"sed -i.bak -e s/a/b/ c", "rw /w/c, w /w/c.bak"},
		{"sed -Ei s/a/b/ c", "rw /w/c"},
		{"sed --in-place=.b s/a/b/ c", "rw /w/c, w /w/c.b"},
		{"sed 'r /etc/a' c", "r /etc/a, r /w/c"},
		{"sed -n 'w /out' c", "r /w/c, w /out"},
		{"sed 's/a/b/w /out' c", "r /w/c, w /out"},
		{"sed 's/[/]/b/gw /out' c", "r /w/c, w /out"},
		{"sed '/x/r /etc/a\nd' c", "r /etc/a, r /w/c"},
		{"awk '{print > \"/out\"}' c", "r /w/c, w /out"},
		{"awk 'BEGIN{getline x < \"/etc/a\"}'", "r /etc/a"},
		{"awk -f p.awk c", "r /w/c, rx /w/p.awk"},
		{"awk '$1 > 5' c", "r /w/c"},
		{"awk -i inplace '{print}' c", "rw /w/c, rx /w/inplace"},
		{"diff -r a b", "r /w/a/, r /w/b/"},
		{"patch -p1 -i a.diff", "r /w/a.diff, rw /w/"},
		{"find a -name x", "r /w/a/"},
		{"find", "r /w/"},
		{"find a -delete", "r /w/a/, w /w/a/"},
		{"find a -fprint /out", "r /w/a/, w /out"},
		{"find a -newer b", "r /w/a/, r /w/b"},
		{"tar cf a.tar b", "r /w/b/, w /w/a.tar"},
		{"tar -cf a.tar -C/etc .", "r /etc/, w /w/a.tar"},
		{"tar cf - -C/etc .", "r /etc/"},
		{"tar xf a.tar -C /out", "r /w/a.tar, w /out/"},
		{"tar xfC a.tar /out", "r /w/a.tar, w /out/"},
		{"tar -xzf a.tar", "r /w/a.tar, w /w/"},
		{"tar --extract --file=a.tar --directory=/out", "r /w/a.tar, w /out/"},
		{"tar --ext --file a.tar --dire /out", "r /w/a.tar, w /out/"},
		{"tar tf a.tar", "r /w/a.tar"},
		{"unzip a.zip -d /out", "r /w/a.zip, w /out/"},
		{"unzip a.zip", "r /w/a.zip, w /w/"},
		{"unzip -l a.zip", "r /w/a.zip"},
		{"zip -r a.zip b", "r /w/b/, w /w/a.zip"},
		{"gzip a", "rw /w/a, w /w/a.gz"},
		{"gzip -c a", "r /w/a"},
		{"7z x a.7z -o/out", "r /out, r /w/a.7z, w /out/"},
		{"rsync -a a/ h:b", "r /w/a/"},
		{"rsync -a a b", "r /w/a/, w /w/b/"},
		{"scp h:a b", "w /w/b/"},
		{"scp -i k a h:b", "r /w/a/, r /w/k"},
		{"curl -o /out http://e", "w /out"},
		{"curl -o/out http://e", "w /out"},
		{"curl --output=/out http://e", "w /out"},
		{"curl -sSLo /out http://e", "w /out"},
		{"curl -O http://e/a", "w /w/"},
		{"curl -d @/etc/p http://e", "r /etc/p"},
		{"curl --data-binary @/etc/p http://e", "r /etc/p"},
		{"curl --data-bin=@/etc/p http://e", "r /etc/p"},
		{"curl -F a=@/etc/p http://e", "r /etc/p"},
		{"curl -F 'a=</etc/p;type=x' http://e", "r /etc/p"},
		{"curl --data-urlencode a@/etc/p http://e", "r /etc/p"},
		{"curl -T /etc/p http://e", "r /etc/p"},
		{"curl -T/etc/p http://e", "r /etc/p"},
		{"curl -K /etc/p", "r /etc/p"},
		{"curl file:///etc/p", "r /etc/p"},
		{"curl FILE:///etc/p", "r /etc/p"},
		{"curl -H @/etc/p http://e", "r /etc/p"},
		{"wget -O /out http://e", "w /out"},
		{"wget -P /out http://e", "w /out/"},
		{"wget http://e", "w /w/"},
		{"wget --post-file=/etc/p http://e", "r /etc/p, w /w/"},
		{"wget -i /etc/p -O -", "r /etc/p"},
		{"git -C /out init", "r /out, rw /out, w /out/"},
		{"git init a", "w /w/a/"},
		{"git --git-dir=/etc log", "r /etc/"},
		{"git --git-dir /etc --work-tree=/x status", "r /etc/, r /x"},
		{"git clone https://e/a.git", "w /w/a/"},
		{"git clone h:x/a.git b", "w /w/b/"},
		{"git clone ../a b", "r /a/, w /w/b/"},
		{"git add a", "r /w/a"},
		{"git rm -r a", "w /w/a/"},
		{"git mv a b", "rw /w/a, w /w/b, w /w/b/a"},
		{"git worktree add ../b", "w /b/"},
		{"git checkout -- a", "w /w/a/"},
		{"git clean -fd", "w /w/"},
		{"git diff --output=/out", "w /out"},
		{"git archive -o /out HEAD", "w /out"},
		{"git format-patch -o /out -1", "w /out/"},
		{"git apply a.patch", "r /w/a.patch, w /w/"},
		{"make -C sub -f m.mk", "r /w/sub, rw /w/sub, rx /w/sub/m.mk"},
		{"go build -o /out .", "r /w, w /out"},
		{"gcc -o /out -I../i a.c", "r /i/, r /w/a.c, w /out"},
		{"node a.js ./b", "r /w/b, rx /w/a.js"},
		{"python3 a.py", "rx /w/a.py"},
		{"python3 -c 'open(\"/etc/p\")'", "rw /etc/p"},
		{"perl -i -pe 's/a/b/' c", "rw /w/c"},
		{"perl -pe 's/a/b/' c", "r /w/c"},
		{"bash a.sh", "rx /w/a.sh"},
		{"source ./a.sh", "rx /w/a.sh"},
		{". a.sh", "rx /w/a.sh"},
		{"./a.sh b/c", "r /w/b/c, x /w/a.sh"},
		{"/usr/bin/cat a", "r /w/a, x /usr/bin/cat"},
		{"jq . a", "r /w/a"},
		{"jq -f p a", "r /w/a, r /w/p"},
		{"jq --slurpfile n f . a", "r /w/a, r /w/f"},
		{"yq -i .a b", "rw /w/b"},
		{"xxd a b", "r /w/a, w /w/b"},
		{"sha256sum -c a", "r /w/a"},
		{"test -f a", "r /w/a"},
		{"[ a -nt b ]", "r /w/a, r /w/b"},
		{"env -C sub cat a", "r /w/sub, r /w/sub/a"},
		{"xargs -a f cat", "r /w/f, r "},
		{"docker run -v /a:/b:ro -v ./c:/d i", "r /a/, rw /w/c/"},
		{"docker run --mount type=bind,source=/a,target=/b i", "rw /a/"},
		{"docker run -v name:/b i", ""},
		{"vim -c ':r /etc/p' -c wq", "r /etc/p"},
		{"vim -c 'w /out'", "w /out"},
		{"vim a +5", "rw /w/a"},
		{"sqlite3 a.db '.output /out'", "rw /w/a.db, w /out"},
		{"sqlite3 a.db '.read /etc/p'", "rw /w/a.db, rx /etc/p"},
		{"psql -c \"\\copy t to '/out'\"", "rw /out, w /out"},
		{"psql -f /a.sql", "rx /a.sql"},
		{"openssl enc -in /etc/p -out b", "r /etc/p, w /w/b"},
		{"mktemp", "w /tmp/tmp.XXXXXXXXXX"},
		{"mktemp -p /out", "w /out/tmp.XXXXXXXXXX"},
		{"shred -u a", "w /w/a"},
		{"split -b 1 a", "r /w/a, w /w/"},
		{"cat < a > b", "r /w/a, w /w/b"},
		{"frob /etc/p --x=/etc/q -f/etc/r if=/s file:///t @/u plain", "r /etc/p, r /etc/q, r /etc/r, r /s, r /t, r /u"},
		{"frob http://e/x user@h", ""},
	} {
		got := strings.Join(touched(tt.line), ", ")
		want := strings.Split(tt.want, ", ")
		slices.Sort(want)
		if got != strings.Join(want, ", ") {
			t.Errorf("%s\n\ttouches %s\n\twant    %s", tt.line, got, strings.Join(want, ", "))
		}
	}
}

// Plain words of an unknown program are guesses.
func TestGuess(t *testing.T) {
	r := Parse("frob plain", &Options{Dir: "/w"})
	if p := r.Commands[0].Paths; len(p) != 1 || p[0].Source != FromGuess || p[0].Path != "/w/plain" {
		t.Errorf("paths are %+v", p)
	}
	if r.Commands[0].Opaque == "" || r.Safe() {
		t.Errorf("an unknown program is opaque and not safe: %+v", r.Commands[0])
	}
}
