package checker

// clean is a whole run in little: everything that a pass needs happens in it
// once, and nothing is wrong. Each violation and each oddity of the tests is
// one edit away from it.
const clean script = `
0    h  phase boot
1    h  watched
10   h  phase warm-up
20   o1 started 1
21   s1 started 1
22   s2 started 1
23   p1 started 1
24   p2 started 1
100  p1 attempt 1
101  p1 ack 1
102  o1 consume p1-1 @1
103  o1 finish p1-1 @1
104  s1 consume p1-1 @1
110  p2 attempt 1
111  p2 ack 1
112  o1 consume p2-1 @2
113  o1 finish p2-1 @2
114  s2 consume p2-1 @2
115  s2 finish p2-1 @2
150  p1 attempt 50
152  p1 ack 50
153  o1 consume p1-50 @40
154  s1 consume p1-50 @40
160  p2 attempt 51 defer=100
162  p2 ack 51
200  h  phase chaos
250  p1 attempt 52
251  p1 ack 52
252  o1 consume p1-52 @42
253  s1 consume p1-52 @42
256  p1 attempt 54
257  p1 ack 54
258  o1 consume p1-54 @44
259  s1 consume p1-54 @44
265  o1 consume p2-51 @41
266  s1 consume p2-51 @41
280  p1 attempt 2
285  p1 ack 2
290  p2 attempt 2
300  h  fault kill broker-1 effective 1
310  p1 attempt 3
311  p1 fail 3
390  p2 unknown 2
410  p2 attempt 3
411  p2 fail 3
450  p2 attempt 3
451  p2 fail 3
500  p2 attempt 3
501  p2 fail 3
502  p2 gave-up 3
600  h  fault kill broker-1 ended 1
602  o1 connected
602  s1 connected
602  s2 connected
605  s2 consume p1-1 @1 attempts=2
606  s2 finish p1-1 @1
610  o1 consume p1-2 @3
611  s1 consume p1-2 @3
612  s1 finish p1-2 @3
620  o1 consume p2-2 @4
621  s2 consume p2-2 @4
640  p1 attempt 3
645  p1 ack 3
646  o1 consume p1-3 @5
647  s1 consume p1-3 @5
690  p1 attempt 4
695  p1 ack 4
696  p2 attempt 4
699  p2 ack 4
700  h  fault pause broker-1 effective 2
750  p1 attempt 5
800  h  fault kill producer-1 effective 3
900  h  fault kill producer-1 ended 3
901  p1 started 2
1000 h  fault pause broker-1 ended 2
1005 o1 consume p1-4 @6
1006 s1 consume p1-4 @6
1007 o1 consume p2-4 @7
1008 s2 consume p2-4 @7
1009 o1 consume p1-5 @8
1010 s1 consume p1-5 @8
1100 h  fault kill consumer-ordered-1 effective 4
1110 p2 attempt 5
1112 p2 ack 5
1113 s1 consume p2-5 @9
1200 h  fault kill consumer-ordered-1 ended 4
1201 o1 started 2
1210 o1 consume p2-5 @9
2000 h  phase quiet
2500 p1 attempt 6
2510 p1 ack 6
2511 o1 consume p1-6 @10
2512 s1 consume p1-6 @10
2600 p2 attempt 6
2610 p2 ack 6
2611 o1 consume p2-6 @11
2612 s2 consume p2-6 @11
3000 p1 attempt 7
3010 p1 ack 7
3011 o1 consume p1-7 @12
3012 s1 consume p1-7 @12
6000 h  phase quiet-end
7000 h  phase heal
8000 h  phase drain
8100 p1 attempt 8
8110 p1 ack 8
8111 p1 sentinel 8
8112 o1 consume p1-8 @13
8113 s1 consume p1-8 @13
8200 p2 attempt 7
8210 p2 ack 7
8211 p2 sentinel 7
8212 o1 consume p2-7 @14
8213 s2 consume p2-7 @14
8500 h  drained ordered
8501 h  drained shared
9000 h  phase verify
9100 h  phase end
`
