//! Programs and what the real Perl prints for them.

use crate::guard::{Guard, Prelude};
use crate::walk::ScriptWalk;

fn printed(code: &str) -> String {
    let (guard, prelude) = (Guard::default(), Prelude::default());
    let mut walk = ScriptWalk::new(&guard, ("", 0), &prelude);
    let mut understood = false;
    let output = walk.capturing(|walk| understood = walk.run_perl(&["-e".to_owned(), code.to_owned()]));
    assert!(understood, "not understood: {code}");
    output
}

#[test]
fn programs_print_what_perl_prints() {
    for (code, output) in CASES {
        assert_eq!(printed(code), *output, "{code}");
    }
}

#[rustfmt::skip]
const CASES: &[(&str, &str)] = &[
    (r#"my %o=(force=>1,verbose=>0,all=>2); print join(" ",map {"--$_=$o{$_}"} grep {$o{$_}} sort keys %o),"\n";"#, "--all=2 --force=1\n"),
    (r#"my @a=(3,1,2); my ($x,@r)=sort {$b <=> $a} @a; print "$x|@r|$#a|$a[-1]|@a[0,1]\n";"#, "3|2 1|2|2|3 1\n"),
    (r#"my $s="git-push"; (my $t=$s)=~s/-/ /; $t=~tr/a-z/A-Z/; print "$t ",length $t,"\n"; print scalar reverse("abc"),"\n";"#, "GIT PUSH 8\ncba\n"),
    (r#"my $h={a=>[1,2,{b=>"c"}],d=>sub {"<@_>"}}; print $h->{a}[2]{b},$h->{d}->(1,2),$$h{a}->[0],${$h->{a}}[1],scalar @{$h->{a}},"\n";"#, "c<1 2>123\n"),
    (r#"while("a1b22c333"=~/([a-z])(\d+)/g){print "$1=$2;"} print "\n"; my @all="k=v,x=y"=~/(\w)=(\w)/g; print "@all\n";"#, "a=1;b=22;c=333;\nk v x y\n"),
    (r#"if("2024-05-06"=~/^(?<y>\d+)-(?<m>\d+)/){print "$+{y}/$+{m} $& $1\n"}"#, "2024/05 2024-05 2024\n"),
    (r#"my @w=split /,/,"a,b,,c,,"; print scalar(@w),":@w\n"; print join("|",split(//,"abc")),"|",join("|",split(" ","  a  b ")),"|",join("|",split(/(-)/,"a-b-c",2)),"\n";"#, "4:a b  c\na|b|c|a|b|a|-|b-c\n"),
    (r#"print join(",",map {sprintf "%03d-%s",$_,chr(64+$_)} 1..3),"\n"; printf "%-5s|%5s|%.2f|%x|%o|%b|%%|%e\n","ab","cd",3.14159,255,8,5,12345.678;"#, "001-A,002-B,003-C\nab   |   cd|3.14|ff|10|101|%|1.234568e+04\n"),
    (r#"sub f { my ($n,%o)=@_; return wantarray ? "list" : "scalar" } my @l=f(1,a=>2); my $s=f(1); print "$l[0] $s\n";"#, "list scalar\n"),
    (r#"sub fact { my $n=shift; $n<2?1:$n*fact($n-1) } print fact(10),"\n"; my $c=do{my $i=0; sub { ++$i }}; $c->(); print $c->(),"\n";"#, "3628800\n2\n"),
    (r#"my $t=<<"A".<<'B'; print $t; print <<~C;
x @{[1+1]}
A
y $z
B
    in
      dented
    C"#, "x 2\ny $z\nin\n  dented\n"),
    (r#"OUTER: for my $i (1..3){ for my $j (1..3){ next OUTER if $j==2; last OUTER if $i==3; print "$i$j " } } print "\n"; my $k=0; do { $k++ } while($k<5); print "$k\n"; until($k==0){$k--} print $k,"\n";"#, "11 21 \n5\n0\n"),
    (r#"my @x=(1..5); push @x,6; unshift @x,0; my $p=pop @x; my $q=shift @x; my @s=splice(@x,1,2,"a","b","c"); print "@x|$p|$q|@s\n"; print "@x[1..$#x]\n";"#, "1 a b c 4 5|6|0|2 3\na b c 4 5\n"),
    (r#"local $,="-"; local $\="!\n"; print 1,2,3; { local $,="+"; print 1,2 } print "a"x3,"-"x2;"#, "1-2-3!\n1+2!\naaa---!\n"),
    (r#"my %h; $h{$_}++ for qw(a b a c a); print join(",",map{"$_$h{$_}"}sort{$h{$b}<=>$h{$a}||$a cmp $b}keys %h),"\n"; delete $h{a}; print exists $h{a}?"y":"n",exists $h{b}?"y":"n","\n";"#, "a3,b1,c1\nny\n"),
    (r#"package Dog; sub new{my($c,%a)=@_;bless{%a},$c} sub name{$_[0]{name}} sub say_it{my $s=shift; return $s->name." says @_"} package Pup; our @ISA=('Dog'); sub name {my $s=shift; "little ".$s->SUPER::name()} package main; print Pup->new(name=>"rex")->say_it("hi"),"\n"; print ref(Dog->new),"\n";"#, "little rex says hi\nDog\n"),
    (r#"our $AUTOLOAD; sub AUTOLOAD { my $n=$AUTOLOAD; $n=~s/.*:://; return if $n eq 'DESTROY'; print "auto $n(@_)\n" } foo(1,2); bar("x");"#, "auto foo(1 2)\nauto bar(x)\n"),
    (r#"eval { die "oops\n" }; print "got $@"; eval { die {code=>42} }; print $@->{code},"\n"; my $r=eval "1+2*3"; print "$r\n"; print eval{5},"\n";"#, "got oops\n42\n7\n5\n"),
    (r#"my $str="hello world"; print ucfirst($str)," \u$str \U$str\E ",substr($str,0,5),substr($str,-5)," ",index($str,"wor"),rindex($str,"o"),"\n"; substr($str,0,5)="HOWDY"; print "$str\n"; substr($str,0,1,"J"); print $str,"\n"; print lc("ABC").uc "def","\n";"#, "Hello world Hello world HELLO WORLD helloworld 67\nHOWDY world\nJOWDY world\nabcDEF\n"),
    (r#"print "a".1+2,"\n"; print 7/2," ",int(7/2)," ",7%3," ",-7%3," ",2**10," ",10==10.0?"eq":"ne"," ","abc" lt "abd"?"lt":"ge"," ",1<=>2," ","b" cmp "a","\n";"#, "2\n3.5 3 1 2 1024 eq lt -1 1\n"),
    (r#"my @m=map { { name=>$_, len=>length } } qw(aa b); print join(",",map {"$_->{name}:$_->{len}"} @m),"\n"; my %inv=reverse (a=>1,b=>2); print join(",",map{"$_=$inv{$_}"}sort keys %inv),"\n"; my %h=map {$_=>1} qw(x y); print join(",",sort keys %h),"\n";"#, "aa:2,b:1\n1=a,2=b\nx,y\n"),
    (r#"my $x="aXbXc"; my $n=($x=~s/X/-/g); print "$x $n\n"; my $y=$x=~s/-/_/gr; print "$y\n"; (my $z="1 2 3")=~s/(\d)/$1*2/ge; print "$z\n"; my $cnt=($z=~tr/0-9//); print "$cnt\n";"#, "a-b-c 2\na_b_c\n2 4 6\n3\n"),
    (r##"print join(",",unpack("A2 A3","abcde")),pack("H*","68656c6c6f"),pack("C*",72,105),pack("A3","abcdef"),"\n"; print join(".",unpack("C*","AB")),"\n"; print unpack("u","#86)C"),"\n";"##, "ab,cdehelloHiabc\n65.66\nabc\n"),
    (r#"my @sorted=map{$_->[1]}sort{$a->[0]<=>$b->[0]}map{[length,$_]}qw(ccc a bb); print "@sorted\n"; print "yes\n" if grep {$_ eq "a"} @sorted; my ($first)=grep /b/,@sorted; print "$first\n";"#, "a bb ccc\nyes\nbb\n"),
    (r#"use List::Util qw(first sum max min reduce any all uniq); print first{$_>2}(1..5); print sum(1..4),max(1,9,3),min(4,2),(reduce{$a*$b}1..5),(any{$_==2}1,2)?"any":"",(all{$_}1,0)?"":"notall",join("",uniq(1,1,2)),"\n";"#, "31092120anynotall12\n"),
    (r#"use constant {A=>1,B=>"two"}; use constant LIST=>(1,2,3); print A+1,B,(LIST)[1],scalar(my @l=LIST),"\n";"#, "2two23\n"),
    (r#"my $data=join "",<DATA>; my %c=map{split /=/,$_,2} grep{!/^#/&&/=/} split /\n/,$data; print "$c{a} $c{b}\n";
__DATA__
# comment
a=1
b=x=y"#, "1 x=y\n"),
    (r#"my @stack=([1,[2,3]],{k=>[4]}); sub walk{my $d=shift; ref $d eq 'ARRAY'?map{walk($_)}@$d:ref $d eq 'HASH'?map{walk($d->{$_})}sort keys %$d:$d} print join("",walk(\@stack)),"\n";"#, "1234\n"),
    (r#"my ($a1,$b1)=(1,2); ($a1,$b1)=($b1,$a1); print "$a1$b1\n"; my $str=sprintf("%s-%s",split(/:/,"x:y")); print "$str\n"; my @e=(); print "empty\n" unless @e; print "last: $e[-1]\n" if @e; print "ok\n" if !defined $e[0];"#, "21\nx-y\nempty\nok\n"),
    (r#"my $q=qr/(\w+)@(\w+)/i; if("Foo\@Bar"=~$q){print "$1 $2\n"} my @p=("a.b"=~/^(.)\.(.)$/); print "@p\n"; print join("|","a1b2"=~/\d/g),"\n"; $_="topic"; print "m\n" if /^top/; print "n\n" unless /x/;"#, "Foo Bar\na b\n1|2\nm\nn\n"),
    (r#"my $i=5; print $i++ + ++$i,"\n"; my $s="az"; $s++; print "$s\n"; my $v="a9"; $v++; print "$v\n"; print join(",","aa".."ad"),"\n"; my @r=reverse 1..4; print "@r\n"; print "@{[map{$_*2}grep{$_%2}1..5]}\n";"#, "12\nba\nb0\naa,ab,ac,ad\n4 3 2 1\n2 6 10\n"),
    (r#"my %d=(list=>[qw(a b c)],n=>{m=>{o=>"deep"}}); print "$d{list}[1] $d{n}{m}{o} @{$d{list}}[0,2] $#{$d{list}}\n"; push @{$d{new}},"auto"; print $d{new}[0],"\n"; my @k=@d{qw(list n)}; print scalar(@k),"\n"; my ($h)=\%d; print join(",",sort keys %$h),"\n"; print "$_ " for sort keys %{$h->{n}}; print "\n";"#, "b deep a c 2\nauto\n2\nlist,n,new\nm \n"),
    (r#"my $code="print 'ev'.'al'"; eval $code; print "\n"; my $f="join"; my %disp=(add=>sub{$_[0]+$_[1]},mul=>sub{$_[0]*$_[1]}); print $disp{$_}->(3,4)," " for sort keys %disp; print "\n"; print &{$disp{add}}(1,1),"\n";"#, "eval\n7 12 \n2\n"),
    (r#"use strict; use warnings; my @lines=("b 2","a 1"); foreach my $l (sort @lines){ my ($n,$v)=split ' ',$l; print "$n=>$v\n"; } my $total=0; $total+=$_ for (1,2,3); print "total: $total\n"; print "-" x 10 . "\n"; my @rep=(0) x 3; print "@rep\n";"#, "a=>1\nb=>2\ntotal: 6\n----------\n0 0 0\n"),
    (r#"sub named { my %a=(x=>1,@_); "$a{x}$a{y}" } print named(y=>2),named(x=>5,y=>6),"\n"; sub ctx { return (1,2,3) } my $n=()=ctx(); my ($f)=ctx(); my $l=(ctx())[2]; print "$n$f$l\n";"#, "1256\n313\n"),
    (r#"my $x; $x//="def"; $x||="no"; my $y=0; $y||=7; $y&&=8; $x.="!"; $x x=2; print "$x $y\n"; my @a=(1)x3; my $z=@a; print "$z\n"; print "chained: ".(1<2?"a":2<3?"b":"c")."\n"; print "unless\n" unless 0; "#, "def!def! 8\n3\nchained: a\nunless\n"),
    (r#"my $text="line1\nline2\nline3\n"; open(my $fh,'<',\$text); while(my $l=<$fh>){chomp $l; next if $l=~/2/; print "[$l]"} close $fh; print "\n"; my $out=''; open(my $o,'>',\$out); print $o "hi"; print {$o} " there"; close $o; print "$out\n";"#, "[line1][line3]\nhi there\n"),
    (r#"my @c=caller; printf("%s\n",join ",",map { ord } split //,"AB"); print "oct ",oct("755")," ",hex("ff")," ",oct("0x1f"),"\n"; print join(",",sort{$a<=>$b}(10,9,2)),"\n"; print "abc"=~/b/?"t":"f","\n"; print "x"."-"x3 ."\n"; print ucfirst lc "HELLO","\n";"#, "65,66\noct 493 255 31\n2,9,10\nt\nx---\nHello\n"),
    (r#"my $s="a,b;c"; print join("|",split /[,;]/,$s),"\n"; my ($k,$v)="key = value"=~/^(\w+)\s*=\s*(.*)$/; print "$k:$v\n"; $s=~s/([,;])/<$1>/g; print "$s\n"; print "quotemeta: ",quotemeta("a.b"),"\n"; my $re="\Qa.b\E"; print "a.b"=~/^$re$/?1:0,"axb"=~/^$re$/?1:0,"\n";"#, "a|b|c\nkey:value\na<,>b<;>c\nquotemeta: a\\.b\n10\n"),
    (r#"try_it(); sub try_it { for my $f (\&one,\&two) { print $f->(1),"\n" } } sub one {"one@_"} sub two {return "two".shift}"#, "one1\ntwo1\n"),
    (r#"my %h=(b=>2,a=>1); for my $k (sort { $h{$a} <=> $h{$b} } keys %h) { print "$k" } print "\n"; while (my ($k,$v)=each %h) { $h{$k}=$v+1 } print join(",",map {"$_$h{$_}"} sort keys %h),"\n"; my @copy=@{[ @h{qw(a b)} ]}; print "@copy\n"; print "n: ".keys(%h)."\n";"#, "ab\na2,b3\n2 3\nn: 2\n"),
    (r#"BEGIN { our $start="begin" } END { print "end\n" } our $start; print "$start main\n"; exit 0; print "never\n";"#, "begin main\nend\n"),
    (r#"use File::Basename; use File::Spec; print basename("/a/b/c.txt"),dirname("/a/b/c.txt"),"\n"; print File::Spec->catfile("a","b","c"),File::Spec->catdir("/x","..","y"),"\n"; print join("|",File::Spec->splitdir("/a/b")),"\n"; my ($n,$p,$s)=fileparse("/t/f.c"); print "$n $p\n";"#, "c.txt/a/b\na/b/c/x/../y\n|a|b\nf.c /t/\n"),
    (r#"use Getopt::Long; @ARGV=qw(--name=bob --verbose --num 5 rest --no-color); my ($name,$v,$num,$color)=("","",0,1); GetOptions("name=s"=>\$name,"verbose|v"=>\$v,"num=i"=>\$num,"color!"=>\$color); print "$name $v $num $color @ARGV\n";"#, "bob 1 5 0 rest\n"),
    (r#"sub sig { my ($x, $y) = @_; $y //= 10; return $x + $y } print sig(1), sig(1,2), "\n"; my @nested=([1,2],[3,4]); print join(";",map{join(",",@$_)}@nested),"\n"; print "$nested[1][0] $nested[0]->[1]\n"; my ($r1,$r2)=@nested; print "@$r1 @{$r2}\n";"#, "113\n1,2;3,4\n3 2\n1 2 3 4\n"),
    (r#"my $str = "x=1&y=2"; my %p = $str =~ /(\w+)=(\w+)/g; print join(",", map {"$_:$p{$_}"} sort keys %p), "\n"; my $tpl="Hi {name}, {x}"; my %v=(name=>"Al",x=>5); $tpl =~ s/\{(\w+)\}/$v{$1}/g; print "$tpl\n"; print "pos\n" if "foobar" =~ /foo(?=bar)/; print join("|", "aXbX" =~ /(.)X/g), "\n";"#, "x:1,y:2\nHi Al, 5\npos\na|b\n"),
];
