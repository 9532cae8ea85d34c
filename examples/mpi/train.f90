! SPDX-FileCopyrightText: the libcgxpmpi developers
! SPDX-License-Identifier: BSD-3-Clause

! One array has all gradients, and its sum is compressed; use mpi, or mpif.h, serves as well.
!
!     mpifort -O2 -o train train.f90
!     mpiexec -n 4 cgxrun --buffers host ./train

program train
    use mpi_f08
    implicit none
    integer, parameter :: inputs = 256, outputs = 64, batch = 16
    real, dimension(inputs, outputs) :: teacher, weights, gradient
    real :: x(batch, inputs), error(batch, outputs), loss
    integer :: rank, ranks, i

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call random_seed(put=[(1, i = 1, 99)])
    call random_number(teacher)
    call random_seed(put=[(2 + rank, i = 1, 99)])
    weights = 0
    loss = 0
    do i = 1, 400
        call random_number(x)
        call random_number(error)
        x = 2 * x - 1
        error = 2 * error - 1 + matmul(x, weights - teacher)
        gradient = matmul(transpose(x), error) / batch
        call MPI_Allreduce(MPI_IN_PLACE, gradient, size(gradient), &
                           MPI_REAL, MPI_SUM, MPI_COMM_WORLD)
        weights = weights - 0.05 / ranks * gradient
        loss = 0.9 * loss + 0.1 * sum(error**2) / size(error)
    end do
    call MPI_Allreduce(MPI_IN_PLACE, loss, 1, MPI_REAL, MPI_SUM, &
                       MPI_COMM_WORLD)
    if (rank == 0) print '("loss ", f6.4)', loss / ranks
    call MPI_Finalize()
end program
