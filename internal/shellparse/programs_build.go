package shellparse

// buildRows are tools that build, test and install. Most of them run commands from files of the
// project.
const buildRows = `
make,gmake,bmake,remake | runs =make | -* | -bBdeikLnNpqrRsStvwX -C/--directory:d -f/--file/--makefile:x -I/--include-dir:r -j/--jobs? -l? -o/--old-file/--assume-old: -W/--what-if/--new-file: -O? -E/--eval:u -#
 --always-make --debug? --ignore-errors --keep-going --load-average? --dry-run --just-print --recon --no-builtin-rules --no-builtin-variables --silent --quiet --no-keep-going --stop --touch --print-directory --no-print-directory --warn-undefined-variables --output-sync? --question --print-data-base --environment-overrides --trace
ninja,cmake,meson,scons,waf,bazel,bazelisk,buck,buck2,pants,please,gradle,gradlew,mvn,mvnw,sbt,lein,ant,xcodebuild,swiftc,xcrun,fastlane,pod,flutter,dart,mix,rebar3,stack,cabal,dune,opam,zig,dub,composer,phpunit,artisan,rails,rspec,rubocop,jekyll,hugo,gem,dotnet,msbuild,nuget,ctest,autoconf,automake,autoreconf,configure,qmake,catkin | runs any | s* | -C:d -f:x -B:W -S:R -j? -P:x -t: -D?
cmake | runs any =cmake | s* | -C:x -B:W -S:R -G: -D: -P:x -E --build:W --install:W --preset: -j? --target/-t: --config:
go | | @ | -C:d
go version,go env,go list,go doc,go help | safe once any | s* | -m -json -f: -e -u -C:d -w! -u! -mod: -tags: -all -short -src -deps -test -find -versions -modfile:r -toolexec:l -exec:l -overlay:r -o:w
go build,go test,go vet,go install,go run,go generate,go tool,go fix,go bug,go telemetry | runs once any | s* | -o:w -C:d -exec:l -toolexec:l -vettool:l -cpuprofile:w -memprofile:w -blockprofile:w -mutexprofile:w -coverprofile:w -trace:w -outputdir:W -modfile:r -overlay:r -pkgdir:W -run: -bench: -benchtime: -count: -cover -coverpkg: -covermode: -cpu: -tags: -timeout: -parallel: -p: -mod: -ldflags: -gcflags: -asmflags: -gccgoflags: -race -msan -asan -v -x -n -a -work -json -short -failfast -list: -skip: -fuzz: -fuzztime: -shuffle: -vet: -c -i -trimpath -buildvcs: -buildmode: -compiler: -pgo:r -benchmem -args
go mod,go get,go work,go clean | alters once any | s* | -u -t -d -v -x -cache -modcache -testcache -i -r -n -C:d -modfile:m -tool
go fmt,gofmt,gofumpt,goimports,gci | alters once any =gofmt | m* | -l -d -w -s -e -r: -local: -n -x -mod: -extra -lang: -modpath: -cpuprofile:w
golangci-lint,staticcheck,govulncheck,gosec,revive,errcheck | runs any | s* | -c/--config:r --fix> -v -j: --new-from-rev: --timeout:
cargo | | @ | -q -v -vv --color: --offline --locked --frozen --config:u -Z: -C:d --list --version -V
cargo tree,cargo metadata,cargo search,cargo info,cargo locate-project,cargo pkgid,cargo read-manifest,cargo verify-project,cargo help,cargo version | safe any | s* | -p: -i: -e: --depth: --manifest-path:r --format-version: --no-deps --features: -d -v
cargo build,cargo b,cargo test,cargo t,cargo run,cargo r,cargo check,cargo c,cargo bench,cargo clippy,cargo doc,cargo fmt,cargo nextest,cargo miri,cargo llvm-cov,cargo expand,cargo rustc,cargo audit,cargo deny,cargo outdated | runs any | s* | -p: --manifest-path:x --target-dir:W --features: -F: --bin: --example: --test: --target: -j: --profile: --config:u
cargo clean,cargo add,cargo rm,cargo remove,cargo update,cargo install,cargo uninstall,cargo new,cargo init,cargo publish,cargo fetch,cargo generate,cargo fix,cargo vendor,cargo login,cargo yank,cargo package | alters any | s* | --path:R --root:W --manifest-path:m -p: --features: -F: --git: --branch: --tag: --version: --target-dir:W
rustc,rustfmt,rustup,rustdoc | runs any | s* | -o:w --out-dir:W -C: --crate-type: --edition: -L: --extern:
npm,pnpm,yarn,cnpm | =npm | -* | --
pip,pip3,easy_install | =pip | -* | --
apt,apt-get,aptitude,apt-cache,apt-mark,dpkg,dpkg-query,dpkg-deb,yum,dnf,rpm,zypper,pacman,paru,yay,apk,snap,flatpak,brew,port,nix-env,nix-store,emerge,pkg,pkg_add,choco,winget,scoop,snapcraft | =packages | -* | --
gcc,g++,cc,c++,clang,clang++,tcc,gfortran,gccgo,icc,nvcc,emcc,mpicc,x86_64-linux-gnu-gcc | once any =cc | r* | -o:w -I:R -L:R -include:r -aux-info:w -dumpbase: -dumpdir: -dumpbase-ext: -isystem:R -iquote:R -idirafter:R -imacros:r -isysroot:R -sysroot:R -x: -D: -U: -l: -T:r -MF:w -MT: -MQ: -Xlinker: -Xassembler: -Xpreprocessor: -Xclang: -u: -z: -B:x -fplugin:x -specs:x -wrapper:-! -arch: -target: -framework: -dumpversion -dumpmachine -v -c -S -E -g -O? -W? -f? -m? -std: -shared -static -pthread -pie -w -M -MM -MD -MMD -MP -MG -P -C -pipe -s -r -nostdlib -nodefaultlibs -nostartfiles -rdynamic -ansi -pedantic
ld,ld.lld,lld,ld.gold,mold,as,nasm,yasm,gas,windres | once any | r* | -o:w -L:R -T:r -l: -plugin:x -dynamic-linker: -rpath: -f: -I:R -soname: -m: -e: -Map:w
javac,kotlinc,scalac | once any | r* | -d:W -cp/-classpath/--class-path:s -sourcepath:R -processorpath:x -processor: -source: -target: -s:W -h:W -encoding: -g -nowarn -Xlint
java | once early any =java | -* | -jar:x$ -cp/-classpath/--class-path:s -D? -javaagent? -agentpath? -agentlib? -Xmx? -Xms? -version~ -m:$ --module-path:s -ea -server
jar | =ar | -* | --
sphinx-build | runs any | R W | -b: -c:x -d:W -E -a -q -j: -D: -W -n -w:w
virtualenv | runs any | W | -p: --python: -q
coverage,swagger,openapi-generator | runs any | s* | --
tsc,tsgo | any =tsc | s* | -p/--project:R -b/--build -w/--watch --noEmit --outDir:W --outFile:w --rootDir:R --declarationDir:W --tsBuildInfoFile:w --init! -v~ -t/--target: -m/--module: --pretty --skipLibCheck --showConfig --listFiles
jest,vitest,mocha,ava,tap,karma,cypress,playwright,pytest,py.test,unittest,nose2,behave,phpstan,psalm,vite,webpack,webpack-cli,rollup,esbuild,parcel,next,nuxt,astro,svelte-kit,remix,gatsby,storybook,ng,vue,expo,react-native,eslint,stylelint,tslint,biome,oxlint,xo,standard,mypy,pyright,pylint,flake8,pyflakes,bandit,mkdocs,babel,swc,nest,prisma,drizzle-kit,typeorm,sequelize,knex,wrangler,vercel,netlify,firebase,serverless,sls,sam,cdk,alembic,django-admin,flask,uvicorn,gunicorn,hypercorn,celery,jupyter,streamlit,dbt,airflow,scrapy,twine,codegen,buf,protoc,sqlc,swag,wire,mockgen,goreleaser,ko,skaffold,tilt,hadolint,shellcheck,yamllint,markdownlint,actionlint,semgrep,trivy,snyk,grype,syft,checkov,size-limit,lighthouse,changeset,release-it,semantic-release,commitlint,lint-staged,depcheck,madge,knip,typedoc,jsdoc,api-extractor,tsup,unbuild,ncu,taze,corepack,volta,nvm,fnm,n | runs any | s* | -c:s --config:x -o:w -k: -m: -n: -p:s -r:s -t: --outfile:w --outdir:W --out-dir:W --output:w --output-file:w --fix> --write> --init! --rootdir:R --cov: --cov-report: --junitxml:w --basetemp:W --tb: --maxfail: --project: --ext: --format: --reporter: --coverage --watch --plugin:x --require:x --rulesdir:x --resolve-plugins-relative-to:x
shellcheck,hadolint,yamllint,actionlint | safe any | r* | -s: -e: -f: -x -a -S: -o: -i: -c:r -C? --exclude: --shell: --severity: --format: --rcfile:r
shfmt | any | r* | -w> -l -d -i: -s -ci -bn -sr -kp -fn
prettier,black,ruff,isort,autopep8,yapf,clang-format,rubyfmt,standardrb,dprint,stylua,nixpkgs-fmt,nixfmt,autoflake,pyupgrade,docformatter,djlint,sqlfluff,taplo,swiftformat,swiftlint,ktlint,google-java-format,ormolu,fourmolu,elm-format,mdformat,codespell,typos | any =formatter | s* | -c:s --check -l --list-different --config:r --line-length: --fix --write -w -i --diff --select: --ignore: --exclude: -q --quiet -v --stdin-filepath: --parser: --output-file:w -o:w --plugin:x
ffmpeg,ffprobe,sox,convert,magick,identify,mogrify,composite,montage,optipng,pngquant,jpegoptim,cwebp,gs,pdftotext,pdftk,qpdf,wkhtmltopdf,tesseract,exiftool,latexmk,xelatex,lualatex,tex,pdftex,dot,mmdc,plantuml,inkscape,blender,gifsicle,svgo,mp4box | =media | -* | --
pdflatex,latex,bibtex,biber,makeindex | runs once any | s* | -output-directory:W -shell-escape!
`

// systemRows are programs that inspect or change the machine.
const systemRows = `
systemctl | =lists | -* | --
service,rc-service,launchctl,initctl,update-rc.d,chkconfig,rcctl,sv,supervisorctl,pm2,forever | =lists | -* | --
journalctl | safe any | s* | -u/--unit: -n/--lines: -f -e -r -x -k -b? -p/--priority: -o/--output: -S/--since: -U/--until: -D/--directory:R --file:r -g/--grep: -t: -q -a --no-pager --user --system --vacuum-size:! --vacuum-time:! --vacuum-files:! --rotate! --flush! --sync! --disk-usage --list-boots --no-hostname --utc --cursor-file:w --setup-keys! --update-catalog! --relinquish-var! --smart-relinquish-var!
dmesg | safe any | -* | -H -T -w -k -x -l: -f: -t -r -L -e -u -P -d -s: -F:r -c! -C! -D! -E! -n:! --clear! --read-clear! --console-off! --console-on! --console-level:!
reboot,shutdown,halt,poweroff,init,telinit,mount,umount,swapon,swapoff,mkfs,mkswap,fsck,fdisk,parted,sfdisk,gdisk,lvm,lvcreate,vgcreate,pvcreate,losetup,cryptsetup,mdadm,zfs,zpool,btrfs,modprobe,insmod,rmmod,depmod,sysctl,useradd,userdel,usermod,groupadd,groupdel,adduser,deluser,passwd,chpasswd,visudo,vipw,chsh,chfn,newgrp,hwclock,timedatectl,hostnamectl,localectl,loginctl,update-alternatives,ldconfig,grub-install,update-grub,dpkg-reconfigure,defaults,diskutil,csrutil,spctl,scutil,dscl,pmset,softwareupdate,tmutil,security,codesign,xattr,quota,setquota,auditctl,semanage,setenforce,chcon,restorecon,aa-enforce,renice,wipefs,blkdiscard,hdparm,smartctl,eject,partprobe,e2fsck,tune2fs,resize2fs,debugfs,xfs_repair | alters any | s* | -o: -t: -L: -n
mkfs.ext4,mkfs.ext3,mkfs.ext2,mkfs.xfs,mkfs.btrfs,mkfs.vfat,mkfs.fat,mke2fs,mkdosfs | | W* | -t: -L: -F -f -q -b: -m: -O: -E: -i: -n: -I: -N: -U:
crontab | =crontab | -* | -u: -e -i -s -l -r -V~ -n:r -T:r
at,batch | =at | -* | -V~ -q: -f:x -m -M -l -b -d -r -c -v -t:
atq,atrm | alters any | -* | --
openssl | =openssl | -* | --
gpg,gpg2,gpgv,gpgsm | alters any =gpg | r* | -o/--output:w --homedir:R -u/--local-user: -r/--recipient: -a -d -e -s -b -c -k -K --passphrase: --passphrase-file:r --keyring:r --options:r --batch --yes --armor --import --export --verify --list-keys --list-secret-keys --fingerprint --detach-sign --sign --encrypt --decrypt --symmetric --clearsign --gen-key --exec-path:x --photo-viewer:l --status-file:w --log-file:w --keyserver: --recv-keys --agent-program:x --pinentry-mode: --dirmngr-program:x
age,rage,minisign,signify,sops,pass,cosign,vault | alters any | s* | -o/--output:w -i/--identity:r -r: -R:r -d -e -p -a -s:r -m:r -x:w
virsh,vboxmanage,VBoxManage,qemu-system-x86_64,qemu-img,multipass,lima,limactl,colima,vagrant,packer,ansible,ansible-playbook,ansible-galaxy,puppet,chef,salt,fab | runs any | s* | -i:r -e: -f:r -c: -a: -m:
xdotool,ydotool,xte,wtype,adb,fastboot,wine,mono,flatpak-spawn,distrobox,toolbox,proot,run-parts,parallel-ssh,pssh,pdsh,dsh,clush,dtach,abduco,run-one,with-contenv,s6-setuidgid,runsv,chronos,at-spi,x-terminal-emulator,xterm,gnome-terminal,konsole,alacritty,kitty,wezterm,urxvt,rxvt,st,foot,terminator | =starter | -* | --
`
