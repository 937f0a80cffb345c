.intel_syntax noprefix
clock_gettime:
  cmp edi, 11
  ja 1f
  mov eax, 0x921
  bt eax, edi
  jnc 1f
  mov edi, 1
  mov eax, 228
  syscall
  test eax, eax
  jnz 2f
  movabs rcx, 0x1111111111111111
  add [rsi], rcx
2: ret
1: mov eax, 228
  syscall
  ret
gettimeofday:
  test rsi, rsi
  jz 1f
  mov qword ptr [rsi], 0
1: xor eax, eax
  test rdi, rdi
  jz 2f
  mov rsi, rdi
  mov edi, 1
  mov eax, 228
  syscall
  movabs rcx, 0x1111111111111111
  add [rsi], rcx
  mov rax, [rsi+8]
  xor edx, edx
  mov ecx, 1000
  div rcx
  mov [rsi+8], rax
  xor eax, eax
2: ret
time:
  mov rdx, rdi
  sub rsp, 16
  mov rsi, rsp
  mov edi, 1
  mov eax, 228
  syscall
  movabs rax, 0x1111111111111111
  add rax, [rsp]
  add rsp, 16
  test rdx, rdx
  jz 1f
  mov [rdx], rax
1: ret
clock_getres:
  mov eax, 229
  syscall
  ret
getrandom:
  mov eax, 318
  syscall
  ret
stat:
  xor r10d, r10d
  jmp 1f
lstat:
  mov r10d, 256
1: mov rdx, rsi
  mov rsi, rdi
  mov edi, -100
  jmp 2f
fstatat:
  mov r10d, ecx
2: mov r8, rdx
  sub rsp, 152
  mov rdx, rsp
  mov eax, 262
3: syscall
  test eax, eax
  jnz 8f
  movabs rcx, 0x2222222222222222
  mov [rsp+72], rcx
  mov [rsp+88], rcx
  mov [rsp+104], rcx
  xor ecx, ecx
  mov [rsp+80], rcx
  mov [rsp+96], rcx
  mov [rsp+112], rcx
  mov ecx, 18
4: mov rsi, rsp
  mov rdi, r8
  rep movsq
  mov rsp, rsi
  add rsp, 8
  ret
8: add rsp, 152
  jmp 9f
fstat:
  mov r8, rsi
  sub rsp, 152
  mov rsi, rsp
  mov eax, 5
  jmp 3b
statx:
  mov r10d, ecx
  mov eax, 332
  mov r9, r8
  sub rsp, 264
  mov r8, rsp
  syscall
  mov r8, r9
  test eax, eax
  jnz 7f
  movabs rcx, 0x2222222222222222
  mov [rsp+64], rcx
  mov [rsp+80], rcx
  mov [rsp+96], rcx
  mov [rsp+112], rcx
  xor ecx, ecx
  mov [rsp+72], ecx
  mov [rsp+88], ecx
  mov [rsp+104], ecx
  mov [rsp+120], ecx
  mov ecx, 32
  jmp 4b
7: add rsp, 264
9: push rbx
  neg eax
  mov ebx, eax
  movabs rax, 0x3333333333333333
  call rax
  mov [rax], ebx
  pop rbx
  mov eax, -1
  ret
